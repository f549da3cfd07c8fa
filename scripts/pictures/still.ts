import type { Row } from "./cells.ts";
import { drawRow, escaped } from "./draw-row.ts";
import { cell, margin, pictureSize } from "./measures.ts";
import { Styles } from "./styles.ts";

export interface StillOptions {
  rows: readonly Row[];
  columns: number;
  /** For those who cannot see it. */
  title: string;
}

/** One screen as a picture. */
export function drawStill({ rows, columns, title }: StillOptions): string {
  const styles = new Styles();
  const filled = rows.slice(0, rows.findLastIndex((row) => row.length > 0) + 1);
  const { width, height } = pictureSize({ columns, rows: filled.length });
  const drawn = filled.flatMap((row, at) => {
    const line = drawRow(row, styles);
    return line === "" ? [] : [`<g transform="translate(0 ${at * cell.height})">${line}</g>`];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${styles.sheet()}</style>`,
    `<rect class="paper" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    `<g transform="translate(${margin} ${margin})">`,
    ...drawn,
    "</g></svg>",
  ].join("\n")}\n`;
}
