/** What opens without closing, closes without opening, or runs on: each makes a backtracking reader start over. */
const UNITS = [
  ..."<latest-request> <system-reminder> </system-reminder> <system_reminder> <a <a> < [ ( ** # * ` - = ' a a. aA".split(
    " ",
  ),
  ..."/ a/ a@ :// : ; , ! … 日 「 _Ga=T, 0 0, sk- eyJ token passwd=".split(" "),
  ...[
    "<pinned>\n",
    "</pinned>\n",
    '<instructions path="',
    '<instructions path="a">\n',
    "[\r",
    "{\n",
    "# ",
    "## a\n",
  ],
  ...[
    "```\n",
    '"',
    '"\\',
    "\\",
    "- ",
    "\n",
    "\r",
    "\r\n",
    " ",
    "\t",
    " \n",
    "\u2028",
    "\u200b",
    "1. ",
    "> ",
    "a ",
  ],
  ...[
    "-----BEGIN ",
    "Bearer ",
    "--- a\n",
    "+++ a\n",
    "*** ",
    "\u001b[",
    "\u001b]8;",
    "\u001b]",
    "\u001b",
    "\b",
  ],
];

/** A quarter of a megabyte of each, or so many characters, and of all in turn, with something behind that ends no match. */
export function adversarialTexts(chars = 250_000): readonly (readonly [name: string, text: string])[] {
  const units = [...UNITS, UNITS.join("")];
  return units.map((unit) => [
    JSON.stringify(unit.slice(0, 30)),
    `${unit.repeat(Math.ceil(chars / unit.length))}\u0001x`,
  ]);
}
