import { styleText } from "node:util";
import { count, counted, largest } from "./numbers.ts";
import { printable, printableLines, textWidth, truncate, wrap } from "./terminal-text.ts";

/** Names of colours and modifiers, as `styleText` takes them. */
export type Style = Parameters<typeof styleText>[0];

/** A piece of a line in one style. Printing makes unsafe characters visible. */
export interface Span<Look = Style> {
  readonly text: string;
  readonly style?: Look | undefined;
  /** The text in fewer columns. Default: it loses its end. */
  readonly fit?: (columns: number) => string;
}

/** One line of human output. */
export type Line<Look = Style> = readonly (string | Span<Look>)[];

export function span(text: string, style?: Style): Span {
  return { text, style };
}

export function lineWidth(line: Line<unknown>): number {
  return line.reduce((sum, part) => sum + textWidth(printable(textOf(part))), 0);
}

/** The line, cut to at most `width` columns. */
export function fitLine<Look = Style>(line: Line<Look>, width: number): Line<Look> {
  if (lineWidth(line) <= width) return line;
  const fitted: Span<Look>[] = [];
  let left = width;
  for (const part of line) {
    const text = printable(textOf(part));
    const partWidth = textWidth(text);
    if (partWidth >= left) {
      fitted.push({ text: cut(part, { text, left, width: partWidth }), style: styleOf(part) });
      break;
    }
    fitted.push({ text, style: styleOf(part) });
    left -= partWidth;
  }
  return fitted;
}

export function renderLine(line: Line, colour: boolean): string {
  const drawn = drawLine(line, (style, text) =>
    colour ? styleText(style, text, { validateStream: false }) : text,
  );
  return drawn.trimEnd();
}

export function drawLine<Look>(line: Line<Look>, draw: (look: Look, text: string) => string): string {
  const parts = line.map((part) => {
    const text = printable(textOf(part));
    const look = styleOf(part);
    return look === undefined || text.trim() === "" ? text : draw(look, text);
  });
  return parts.join("");
}

/** A text in lines of at most `width` columns. */
export function paragraph(text: string, width: number, style?: Style, indent = 0): Line[] {
  const blank = " ".repeat(indent);
  return wrap(text, width - indent).map((line) => [span(`${blank}${line}`, style)]);
}

/** Lines with a mark before the first one. The others are indented. */
export function marked({ text: mark, style }: Span, lines: readonly string[], lineStyle?: Style): Line[] {
  const blank = " ".repeat(mark.length);
  return lines.map((line, at) => [span(at === 0 ? mark : blank, style), span(line, lineStyle)]);
}

/** Quoted lines, with a bar on the left. */
export function quoted(lines: readonly string[], style: Style): Line[] {
  return lines.map((line) => [span("  │ ", style), line]);
}

/** Quotes a text. After `maxLines`, shows the number of remaining lines. */
export function excerpt(
  text: string,
  {
    width,
    maxLines = Number.POSITIVE_INFINITY,
    style,
    more = "",
  }: { width: number; maxLines?: number; style: Style; more?: string },
): Line[] {
  const lines = printableLines(text).flatMap((line) => wrap(line, width - 4));
  const rest = lines.length - maxLines;
  const shown = quoted(lines.slice(0, maxLines), style);
  return rest <= 0 ? shown : [...shown, [span(`  │ … ${counted(rest, "more line")}${more}`, "gray")]];
}

/** Cuts a text that fills the line exactly, too, because more of the line follows. */
function cut(
  part: string | Span<unknown>,
  { text, left, width }: { text: string; left: number; width: number },
): string {
  if (typeof part !== "string" && part.fit !== undefined && width > left) return part.fit(left);
  return truncate(width > left ? text : `${text} `, left);
}

function textOf(part: string | Span<unknown>): string {
  return typeof part === "string" ? part : part.text;
}

function styleOf<Look>(part: string | Span<Look>): Look | undefined {
  return typeof part === "string" ? undefined : part.style;
}

export interface Column {
  align?: "left" | "right";
  /** True for the one column that shrinks on a narrow screen. */
  flexible?: boolean;
}

interface TableOptions {
  columns: readonly Column[];
  width: number;
  /** Blanks before the first column; default 0. */
  indent?: number;
  /** Blanks between columns; default 2. */
  gap?: number;
}

const minFlexibleWidth = 8;

/**
 * Rows in aligned columns. Each cell is a line; missing cells are empty.
 * @param rows iterated twice, so they need not all be in memory
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

/** One part of a stacked bar. The glyphs differ, so that the picture needs no colour. */
export interface BarPart {
  value: number;
  glyph: string;
  style?: Style | undefined;
}

/** A stacked bar of exactly `width` columns. Each part above 0 has at least one column if there is room; dots fill the rest up to `whole`. */
export function bar(parts: readonly BarPart[], width: number, whole = 0): Line {
  const sum = parts.reduce((total, part) => total + part.value, 0);
  const widths = shares([...parts.map((part) => part.value), Math.max(whole - sum, 0)], width);
  const line = parts.map((part, at) => span(part.glyph.repeat(widths[at]!), part.style));
  return [...line, span("·".repeat(widths.at(-1)!), "gray")];
}

/** Whole columns for each value, with the sum `width`. */
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

const shownFiles = 12;

/** A titled list of files after an empty line; nothing for none. */
export function fileListLines(title: string, files: readonly string[], width: number): Line[] {
  if (files.length === 0) return [];
  const rows = files.slice(0, shownFiles).map((file) => [[file]]);
  const rest = files.length - shownFiles;
  return [
    [],
    [span(title, "bold"), span(`  ${count(files.length)}`, "gray")],
    ...table(rows, { columns: [{ flexible: true }], width, indent: 2 }),
    ...(rest > 0 ? [[span(`  and ${count(rest)} more (--json lists them)`, "gray")]] : []),
  ];
}

const styles = new Map<string, Style>(
  Object.entries({
    user: ["bold", "cyan"],
    assistant: "green",
    result: "gray",
    command: "yellow",
    summary: "magenta",
    compaction: "magenta",
    branch: "magenta",
    extension: "blue",
    damaged: "red",
  } satisfies Record<string, Style>),
);

export function kindStyle(kind: string): Style | undefined {
  return styles.get(kind);
}
