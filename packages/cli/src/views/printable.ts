// Session content is hostile: an escape sequence in it must never reach the terminal.

const plain = /^[\x20-\x7e]*$/;
// C0, DEL and C1 controls; line and paragraph separators; what sets the direction of letters; what has no width: soft
// hyphens, joiners of words, fillers, byte-order marks; interlinear marks, tags and all else that is reserved for hiding.
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is looked for alone
  /[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/gu;
// Emoji and the letters of many scripts are joined (or kept apart) by these; elsewhere they hide.
const strayJoiner =
  /(?<!(?![A-Za-z])[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]/gu;
const straySelector = /(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]/gu;

/** The text on one line, with every character that could steer a terminal or hide made visible. Idempotent. */
export function printable(text: string): string {
  if (plain.test(text)) return text;
  const visible = text.toWellFormed().replace(unsafe, picture);
  return visible.replace(strayJoiner, picture).replace(straySelector, picture);
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
