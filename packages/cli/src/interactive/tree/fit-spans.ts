import { printable } from "../../views/printable.ts";
import { truncate } from "../../views/text-width.ts";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import type { Style } from "../theme/theme.ts";

/** A piece of a line in one look. Its text may be anything: what is unsafe is made visible. */
export interface LookSpan {
  text: string;
  style?: Style | undefined;
}

/** Columns that pieces take. */
export function spansWidth(spans: readonly LookSpan[]): number {
  return spans.reduce((sum, { text }) => sum + visibleWidth(printable(text)), 0);
}

/** Pieces as one line of at most `width` columns; a cut ends in `…`. */
export function fitSpans(spans: readonly LookSpan[], width: number): string {
  let left = width;
  let line = "";
  for (const { text, style } of spans) {
    if (left <= 0) break;
    const safe = printable(text);
    const fitted = visibleWidth(safe) <= left ? safe : truncate(safe, left);
    left -= visibleWidth(fitted);
    line += style === undefined || fitted.trim() === "" ? fitted : style(fitted);
    if (fitted !== safe) break;
  }
  return visibleWidth(line) <= width ? line : truncateToWidth(line, width, "");
}
