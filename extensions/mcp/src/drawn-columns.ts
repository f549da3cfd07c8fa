import type { Theme } from "@bonsai-agent/extension";

export type ThemeColor = Parameters<Theme["fg"]>[0];

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const narrow = /^[\x20-\x7e\u00a1-\u02ff\u2010-\u2027\u2500-\u25ff]*$/;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Columns that a text takes, as terminals mostly have it. */
export function columnsOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

/** At most so many columns; a cut ends in `…`. */
export function fitted(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let used = 0;
  let kept = "";
  for (const { segment } of graphemes.segment(text)) {
    used += wide.test(segment) ? 2 : 1;
    if (used > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept}…`;
}

/** In lines of at most so many columns, broken at blanks where there are some; what stands in front is kept. */
export function wrapped(text: string, columns: number): string[] {
  const indent = /^ */.exec(text)![0].slice(0, Math.floor(columns / 2));
  const lines: string[] = [];
  let line = "";
  for (const word of text
    .trim()
    .split(" ")
    .flatMap((each) => pieces(each, columns - indent.length))) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (line !== "" && columnsOf(joined) > columns - indent.length) {
      lines.push(indent + line);
      line = word;
    } else line = joined;
  }
  return [...lines, indent + line];
}

function pieces(word: string, columns: number): string[] {
  if (columnsOf(word) <= columns) return [word];
  const parts: string[] = [];
  let part = "";
  for (const { segment } of graphemes.segment(word)) {
    if (part !== "" && columnsOf(part + segment) > columns) {
      parts.push(part);
      part = "";
    }
    part += segment;
  }
  return [...parts, part];
}
