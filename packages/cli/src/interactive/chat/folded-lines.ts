import { counted } from "../../views/numbers.ts";

export interface FoldOptions {
  /** Lines that are shown of the beginning. */
  head: number;
  /** Lines that are shown of the end. */
  tail: number;
}

/** What is shown of many lines: the first, how many are folded away, the last. One line is never folded alone. */
export interface FoldedLines<Each> {
  head: Each[];
  folded: number;
  tail: Each[];
}

export function foldedLines<Each>(lines: readonly Each[], { head, tail }: FoldOptions): FoldedLines<Each> {
  const folded = lines.length - head - tail;
  if (folded <= 1) return { head: [...lines], folded: 0, tail: [] };
  return { head: lines.slice(0, head), folded, tail: tail === 0 ? [] : lines.slice(-tail) };
}

/** `… 1,204 more lines (Ctrl-O)`. @param key shows them */
export function foldMark(folded: number, key: string): string {
  return `… ${counted(folded, "more line")} (${key})`;
}

/** `3 lines`. */
export function lineCount(text: string): string {
  return counted(text.trimEnd().split("\n").length, "line");
}
