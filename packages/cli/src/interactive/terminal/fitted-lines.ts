import {
  type Component,
  stripTerminalSequences,
  truncateToWidth,
  visibleWidth,
} from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";
import type { Frame } from "./screen-plan.ts";

/** Frames for fewer columns are cut: the library cannot lay out wide characters in one or two columns. */
const MIN_COLUMNS = 10;

/** Draws all parts. The lines up to the end of the last kept part are kept. */
export function fittedFrame(
  parts: readonly Component[],
  keptParts: ReadonlySet<Component>,
  columns: number,
): Frame {
  const lines: string[] = [];
  let kept = 0;
  for (const part of parts) {
    for (const line of part.render(Math.max(columns, MIN_COLUMNS))) lines.push(line);
    if (keptParts.has(part)) kept = lines.length;
  }
  if (columns >= MIN_COLUMNS) return { lines, kept };
  return { lines: lines.map((line) => (drawsImage(line) ? "" : fittedLine(line, columns))), kept };
}

/** Cuts a line at the terminal's edge. Images fit already. */
export function fittedLine(line: string, columns: number): string {
  return drawsImage(line) || visibleWidth(line) <= columns ? line : truncateToWidth(line, columns, "");
}

/** A line without invisible blanks at its end: a narrower terminal would wrap them. */
export function withoutPadding(line: string): string {
  return styledBlanks.test(line) ? line : line.trimEnd();
}

/** A background, reverse video, an underline or a line through: then blanks are visible. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: styles begin with one
const styledBlanks = /\x1b\[(?:\d+;)*(?:[479]|53|4[0-8]|10[0-7])[;m]/;

export function fittedLines(lines: readonly string[], width: number): string[] {
  return lines.map((line) => fittedLine(line, width));
}

export function cutText(text: string, columns: number): string {
  return columns < 1 ? "" : stripTerminalSequences(truncateToWidth(text, columns, "…"));
}
