import type { Row, Span } from "./cells.ts";
import { type Drawn, drawnCharacter } from "./drawn-characters.ts";
import { cell } from "./measures.ts";
import type { Styles } from "./styles.ts";

/** What every font that is monospaced has in the same width. */
const plain = /^[\u0020-\u007e\u00a0-\u024f]$/;

/** One line of the terminal as SVG, from the origin on. */
export function drawRow(row: Row, styles: Styles): string {
  return row.map((span) => `${background(span, styles)}${foreground(span, styles)}`).join("");
}

function background({ column, widths, background: fill }: Span, styles: Styles): string {
  if (fill === undefined) return "";
  const columns = widths.reduce((sum, width) => sum + width, 0);
  return `<rect class="${styles.fill(fill)}" x="${x(column)}" width="${x(columns)}" height="${cell.height}"/>`;
}

function foreground(span: Span, styles: Styles): string {
  let made = "";
  let column = span.column;
  let words = { column, text: "" };
  const drawn: Drawn[] = [];
  const endWords = () => {
    made += drawWords(words, span, styles);
    words = { column, text: "" };
  };
  for (const [at, character] of span.characters.entries()) {
    const shape = drawnCharacter(character, column * cell.width);
    const width = span.widths[at]!;
    if (plain.test(character)) words.text += character;
    else {
      endWords();
      if (shape !== undefined) drawn.push(shape);
      else made += drawSign(character, { column, width }, span, styles);
      words.column = column + width;
    }
    column += width;
  }
  endWords();
  return `${made}${drawShapes(drawn, span, styles)}`;
}

function drawWords({ column, text }: { column: number; text: string }, span: Span, styles: Styles): string {
  const kept = text.trimEnd();
  const begin = kept.length - kept.trimStart().length;
  const words = kept.slice(begin);
  if (words === "") return "";
  const wide = words.length > 1 ? ` textLength="${x(words.length)}"` : "";
  return `<text class="${styles.text(span)}" x="${x(column + begin)}" y="${cell.baseline}"${wide}>${escaped(words)}</text>`;
}

/** In the middle of its cells: fonts that lack it borrow it from others, which have other widths. */
function drawSign(
  sign: string,
  { column, width }: { column: number; width: number },
  span: Span,
  styles: Styles,
): string {
  return `<text class="m ${styles.text(span)}" x="${x(column + width / 2)}" y="${cell.baseline}">${escaped(sign)}</text>`;
}

/** Neighbours of one kind become one path. */
function drawShapes(drawn: readonly Drawn[], span: Span, styles: Styles): string {
  const kinds = Map.groupBy(drawn, ({ width = "", opacity = 1 }) => `${width}/${opacity}`);
  return [...kinds.values()]
    .map((shapes) => {
      const [{ width, opacity, lines }] = shapes as [Drawn];
      const path = joined(shapes.map((shape) => shape.lines ?? shape.shape ?? ""));
      const strength = opacity === undefined ? "" : ` opacity="${opacity}"`;
      if (lines === undefined) return `<path class="${styles.fill(span.color)}"${strength} d="${path}"/>`;
      return `<path class="l ${styles.stroke(span.color)}" stroke-width="${width}" d="${path}"/>`;
    })
    .join("");
}

/** Lines that go on from one cell to the next become one line. */
function joined(paths: readonly string[]): string {
  const made: string[] = [];
  let run: { x: number; y: string; length: number } | undefined;
  const endRun = () => {
    if (run !== undefined) made.push(`M${round(run.x)} ${run.y}h${round(run.length)}`);
    run = undefined;
  };
  for (const path of paths) {
    const [, at, y, length] = /^M([\d.]+) ([\d.]+)h([\d.]+)$/.exec(path) ?? [];
    if (at === undefined || y === undefined || length === undefined) {
      endRun();
      made.push(path);
    } else if (run !== undefined && run.y === y && Math.abs(run.x + run.length - Number(at)) < 0.05)
      run.length += Number(length);
    else {
      endRun();
      run = { x: Number(at), y, length: Number(length) };
    }
  }
  endRun();
  return made.join("");
}

function x(columns: number): number {
  return round(columns * cell.width);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
