import { type Component, truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";
import type { Frame } from "./kept-lines.ts";

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
