import { textHead } from "@bonsai-agent/messages";

// Session content is hostile: an escape sequence in it must never reach the terminal.

const plain = /^[\x20-\x7e]*$/;
// C0, DEL and C1 controls; line and paragraph separators; direction marks; soft hyphens, word joiners, fillers,
// byte-order marks, interlinear marks and tags, which have no width and can hide text.
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds them
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is found alone
  /[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/gu;
// Joiners belong between emoji and letters of many scripts; elsewhere they hide text.
const strayJoiner =
  /(?<!(?![A-Za-z])[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]/gu;
const straySelector = /(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]/gu;

/** The text on one line, with every character that could steer a terminal or hide made visible. Idempotent. */
export function printable(text: string): string {
  if (plain.test(text)) return text;
  const visible = text.toWellFormed().replace(unsafe, picture);
  return visible.replace(strayJoiner, picture).replace(straySelector, picture);
}

/** The printable lines of a text. Tabs become two spaces. */
export function printableLines(text: string): string[] {
  return text.split(/\r\n|\n|\r/).map((line) => printable(line.replaceAll("\t", "  ")));
}

/** One line of a longer text: runs of white space become one space. */
export function oneLine(text: string, maxLength = 240): string {
  const head = textHead(text, maxLength * 4);
  return printable(textHead(head.replace(/\s+/g, " ").trim(), maxLength));
}

function picture(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\\u{${code.toString(16)}}`;
}

/** Scripts and signs in which every UTF-16 unit is one column: most text needs no segmenter. */
const narrow =
  /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u203b\u2190-\u2193\u2400-\u2421\u2500-\u25cf]*$/;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const emoji = /\p{Emoji_Presentation}|\u{fe0f}/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Code points that take two columns, as pairs of first and last (Unicode East Asian Width W and F). */
const wide: ReadonlyArray<readonly [number, number]> = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2fb],
  [0x20000, 0x3fffd],
];

/** Columns that a printable text takes in a terminal. */
export function textWidth(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** The text, cut to at most `width` columns; a cut ends in `…`. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return "";
  if (narrow.test(text)) return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
  let used = 0;
  let cut = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    used += graphemeWidth(segment);
    if (used <= width - 1) cut = index + segment.length;
    if (used > width) return `${text.slice(0, cut)}…`;
  }
  return text;
}

/** The text in lines of at most `width` columns, broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((word) => pieces(word, width))) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (line !== "" && textWidth(joined) > width) {
      lines.push(line);
      line = word;
    } else line = joined;
  }
  return [...lines, line];
}

function pieces(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word];
  const parts: string[] = [];
  let part = "";
  for (const { segment } of graphemes.segment(word)) {
    if (part !== "" && textWidth(part + segment) > width) {
      parts.push(part);
      part = "";
    }
    part += segment;
  }
  return [...parts, part];
}

function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0)!;
  if (code < 0x7f) return 1;
  if (zeroWidth.test(String.fromCodePoint(code))) return 0;
  if (emoji.test(grapheme)) return 2;
  return wide.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
