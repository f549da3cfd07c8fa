import {
  type Component,
  stripTerminalSequences,
  truncateToWidth,
  visibleWidth,
} from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";
import type { Frame } from "./screen-plan.ts";

/** What is drawn for fewer columns is cut: into one or two, the library's components cannot lay out wide characters. */
const LEAST_COLUMNS = 10;

/** @returns the lines of all parts, those up to the last kept one as kept */
export function fittedFrame(
  parts: readonly Component[],
  keptParts: ReadonlySet<Component>,
  columns: number,
): Frame {
  const lines: string[] = [];
  let kept = 0;
  for (const part of parts) {
    for (const line of part.render(Math.max(columns, LEAST_COLUMNS))) lines.push(line);
    if (keptParts.has(part)) kept = lines.length;
  }
  if (columns >= LEAST_COLUMNS) return { lines, kept };
  return { lines: lines.map((line) => (drawsImage(line) ? "" : fittedLine(line, columns))), kept };
}

/** The line, cut at the terminal's edge. */
export function fittedLine(line: string, columns: number): string {
  return drawsImage(line) || visibleWidth(line) <= columns ? line : truncateToWidth(line, columns, "");
}

/** A line without the blanks at its end that nobody sees: a terminal that gets narrower would wrap them. */
export function withoutPadding(line: string): string {
  const end = line.trimEnd();
  return end.length === line.length || showsBlanks(end) ? line : end;
}

/** What is seen of a blank: its background, and lines under and through it. */
const ends: Readonly<Record<number, number>> = { 24: 4, 27: 7, 29: 9, 49: 48, 55: 53 };

/** True where blanks behind this are seen. */
function showsBlanks(line: string): boolean {
  const seen = new Set<number>();
  for (const sequence of line.split("\x1b[").slice(1)) {
    const codes = /^([\d;]*)m/.exec(sequence)?.[1]?.split(";").map(Number) ?? [];
    while (codes.length > 0) {
      const code = codes.shift()!;
      if (code === 38 || code === 48) codes.splice(0, codes[0] === 5 ? 2 : 4);
      if (code === 0) seen.clear();
      else if (ends[code] !== undefined) seen.delete(ends[code]);
      else if (code === 4 || code === 7 || code === 9 || code === 53) seen.add(code);
      else if ((code >= 40 && code <= 48) || (code >= 100 && code <= 107)) seen.add(48);
    }
  }
  return seen.size > 0;
}

/** Lines of at most `width` columns: what is wider is cut. Images fit already. */
export function fittedLines(lines: readonly string[], width: number): string[] {
  return lines.map((line) =>
    !drawsImage(line) && visibleWidth(line) > width ? truncateToWidth(line, width) : line,
  );
}

/** A plain text in at most so many columns, as the terminal counts them; the cut ends nobody's style. */
export function cutText(text: string, columns: number): string {
  return columns < 1 ? "" : stripTerminalSequences(truncateToWidth(text, columns, "…"));
}
