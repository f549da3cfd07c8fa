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
