import { fitLine, type Line, lineWidth, type Span } from "./line.ts";

export interface Column {
  align?: "left" | "right";
  /** True for the one column that gives way when the screen is narrow. */
  flexible?: boolean;
}

export interface TableOptions {
  columns: readonly Column[];
  /** Columns of the terminal. */
  width: number;
  /** Blanks before the first column; default 0. */
  indent?: number;
  /** Blanks between columns; default 2. */
  gap?: number;
}

const minFlexibleWidth = 8;

/**
 * Rows in aligned columns. Each cell is a line; missing cells are empty.
 * @param rows gone through twice: rows that are made as they are gone through need not all be in memory
 */
export function* table(rows: Iterable<readonly Line[]>, options: TableOptions): Generator<Line> {
  const { columns, indent = 0, gap = 2 } = options;
  const widths = columnWidths(rows, columns.length);
  const used = widths.reduce((sum, width) => sum + width, indent + gap * (columns.length - 1));
  const flexible = columns.findIndex((column) => column.flexible);
  if (flexible >= 0 && used > options.width) {
    widths[flexible] = Math.max(minFlexibleWidth, widths[flexible]! - (used - options.width));
  }
  for (const row of rows) {
    const cells = columns.map((column, at) =>
      cell(row[at] ?? [], widths[at]!, column, at === columns.length - 1),
    );
    const line = cells.flatMap((parts, at) => (at === 0 ? parts : [" ".repeat(gap), ...parts]));
    yield fitLine([" ".repeat(indent), ...line], options.width);
  }
}

function columnWidths(rows: Iterable<readonly Line[]>, columns: number): number[] {
  const widths = new Array<number>(columns).fill(0);
  for (const row of rows)
    for (let at = 0; at < columns; at += 1) widths[at] = Math.max(widths[at]!, lineWidth(row[at] ?? []));
  return widths;
}

function cell(line: Line, width: number, column: Column, last: boolean): (string | Span)[] {
  const fitted = fitLine(line, width);
  const pad = " ".repeat(Math.max(0, width - lineWidth(fitted)));
  if (column.align === "right") return [pad, ...fitted];
  return last ? [...fitted] : [...fitted, pad];
}
