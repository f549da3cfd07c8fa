import { type Line, type Style, span } from "./line.ts";
import { largest } from "./numbers.ts";

/** One part of a stacked bar. The glyphs differ, so that the picture needs no colour. */
export interface BarPart {
  value: number;
  glyph: string;
  style?: Style | undefined;
}

export interface BarOptions {
  /** Columns of the whole bar. */
  width: number;
  /** What the whole width stands for; default: the sum of the parts. */
  whole?: number;
}

/**
 * A stacked bar of exactly `width` columns. A part that is not nothing has at least one column while
 * there is room; the rest of the whole is shown as dots.
 */
export function bar(parts: readonly BarPart[], options: BarOptions): Line {
  const sum = parts.reduce((total, part) => total + part.value, 0);
  const whole = Math.max(options.whole ?? sum, sum);
  const widths = shares([...parts.map((part) => part.value), whole - sum], options.width);
  const line = parts.map((part, at) => span(part.glyph.repeat(widths[at]!), part.style));
  return [...line, span("·".repeat(widths.at(-1)!), "gray")];
}

/** Whole columns for each value, summing up to `width`; each positive value gets one while there are enough. */
function shares(values: readonly number[], width: number): number[] {
  const sum = values.reduce((total, value) => total + value, 0);
  if (sum <= 0) return values.map((_, at) => (at === values.length - 1 ? width : 0));
  const columns = values.map((value) => (value > 0 ? Math.max(1, Math.round((value / sum) * width)) : 0));
  for (
    let excess = columns.reduce((total, n) => total + n, 0) - width;
    excess !== 0;
    excess -= Math.sign(excess)
  ) {
    columns[columns.indexOf(largest(columns))]! -= Math.sign(excess);
  }
  return columns;
}
