/** Texts that open without closing, close without opening, or run on: each makes a backtracking reader start over. */
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

/** A reader that starts over at each place takes minutes for the larger one. */
const CHARS = process.env.LAW_RUNS ? 250_000 : 64_000;

/**
 * Long texts that repeat one unit each, and one that repeats all of them. Each ends in characters that end no match.
 * @param chars default: 64,000; 250,000 where `LAW_RUNS` is set
 */
export function adversarialTexts(chars = CHARS): readonly (readonly [name: string, text: string])[] {
  const units = [...UNITS, UNITS.join("")];
  return units.map((unit) => [
    JSON.stringify(unit.slice(0, 30)),
    `${unit.repeat(Math.ceil(chars / unit.length))}\u0001x`,
  ]);
}
