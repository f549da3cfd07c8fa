import type { IBuffer, IBufferCell } from "@xterm/headless";
import { colorOf, paper, text } from "./palette.ts";

/** Cells of one look that stand side by side. */
export interface Span {
  /** In columns, from the left. */
  column: number;
  /** Of each character, how many columns it takes: 1 or 2. */
  widths: readonly number[];
  characters: readonly string[];
  color: string;
  /** Where it is not the paper's. */
  background?: string;
  marks: string;
}

/** A line of the screen as it looks. An empty one has no spans. */
export type Row = readonly Span[];

/** The spinner turns on by itself; in pictures it stands. */
const spinner = /[\u2800-\u28ff]/;

export function rowsOf(buffer: IBuffer, { rows, columns }: { rows: number; columns: number }): Row[] {
  return Array.from({ length: rows }, (_, at) => rowOf(buffer, buffer.baseY + at, columns));
}

function rowOf(buffer: IBuffer, at: number, columns: number): Row {
  const line = buffer.getLine(at);
  const spans: { span: Omit<Span, "widths" | "characters">; widths: number[]; characters: string[] }[] = [];
  for (let column = 0; line !== undefined && column < columns; column += 1) {
    const cell = line.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const look = lookOf(cell);
    const last = spans.at(-1);
    const character = spinner.test(cell.getChars()) ? "⠹" : cell.getChars() || " ";
    if (last !== undefined && sameLook(last.span, look)) {
      last.widths.push(cell.getWidth());
      last.characters.push(character);
    } else spans.push({ span: { column, ...look }, widths: [cell.getWidth()], characters: [character] });
  }
  return spans
    .filter(({ span, characters }) => span.background !== undefined || characters.some((one) => one !== " "))
    .map(({ span, ...cells }) => ({ ...span, ...cells }));
}

type Look = Pick<Span, "color" | "background" | "marks">;

function sameLook(one: Look, other: Look): boolean {
  return one.color === other.color && one.background === other.background && one.marks === other.marks;
}

function lookOf(cell: IBufferCell): Look {
  const front = cell.isFgDefault() ? text : colorOf(cell.getFgColor(), Boolean(cell.isFgRGB()));
  const back = cell.isBgDefault() ? undefined : colorOf(cell.getBgColor(), Boolean(cell.isBgRGB()));
  const marks = [
    cell.isBold() ? "b" : "",
    cell.isItalic() ? "i" : "",
    cell.isUnderline() ? "u" : "",
    cell.isStrikethrough() ? "s" : "",
    cell.isDim() ? "d" : "",
  ].join("");
  if (cell.isInverse()) return { color: back ?? paper, background: front, marks };
  return back === undefined ? { color: front, marks } : { color: front, background: back, marks };
}
