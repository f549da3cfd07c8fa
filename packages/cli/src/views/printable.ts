// Session content is hostile: an escape sequence in it must never reach the terminal.

const plain = /^[\x20-\x7e]*$/;
// C0, DEL and C1 controls, line and paragraph separators, bidirectional overrides and isolates, tags, interlinear marks.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unsafe = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The text on one line, with every character that could steer a terminal made visible. Idempotent. */
export function printable(text: string): string {
  return plain.test(text) ? text : text.toWellFormed().replace(unsafe, picture);
}

/** The text with its newlines kept and everything else as in `printable`; tabs become two spaces. */
export function printableLines(text: string): string[] {
  return text.split(/\r\n|\n|\r/).map((line) => printable(line.replaceAll("\t", "  ")));
}

/** One line of a longer text: runs of white space become one space. */
export function oneLine(text: string, maxLength = 240): string {
  const head = text.length > maxLength * 4 ? text.slice(0, maxLength * 4) : text;
  return printable(head.replace(/\s+/g, " ").trim().slice(0, maxLength));
}

function picture(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\\u{${code.toString(16)}}`;
}
