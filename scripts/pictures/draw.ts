import xterm, { type IBufferCell } from "@xterm/headless";

// Draws the screen of a terminal as SVG. Lines and blocks become paths, so that they join in every font.

/** Colours of the terminal, readable on light and dark pages alike. */
export const PAPER = "#16181d";
const TEXT = "#d7dae0";
const FIRST_16 = [
  ...["#3b404a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"],
  ...["#6b7280", "#ff8787", "#b5e890", "#ffd787", "#87c7ff", "#e0a3f5", "#7fd8e4", "#ffffff"],
];
const CUBE_STEPS = [0, 95, 135, 175, 215, 255];
/** One cell, in pixels. */
const WIDTH = 8.4;
const HEIGHT = 18;
const BASELINE = 13.3;
const MARGIN = 14;
const FONT = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace';
const MARKS = {
  isBold: "font-weight:700",
  isItalic: "font-style:italic",
  isUnderline: "text-decoration:underline",
  isStrikethrough: "text-decoration:line-through",
  isDim: "opacity:.65",
} as const;
/** Characters that every monospaced font draws in one width. */
const PLAIN = /^[\u0020-\u007e\u00a0-\u024f]*$/;

/** Neighbouring cells with one look. */
interface Span {
  column: number;
  characters: string[];
  /** Columns of each character: 1 or 2. */
  widths: number[];
  color: string;
  background: string | undefined;
  /** CSS of bold, italic and so on. */
  marks: string;
}

/** One line of the screen; an empty one has no spans. */
type Row = readonly Span[];

interface Screen {
  /** Everything that the program wrote. */
  written: string;
  columns: number;
  rows: number;
}

/** The visible lines of a terminal. */
export async function rowsOf({ written, columns, rows }: Screen): Promise<Row[]> {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(written, resolve));
  const buffer = terminal.buffer.active;
  return Array.from({ length: rows }, (_, at) => {
    const line = buffer.getLine(buffer.baseY + at);
    const spans: Span[] = [];
    for (let column = 0; column < columns; column += 1) {
      const cell = line?.getCell(column);
      if (cell === undefined || cell.getWidth() === 0) continue;
      const look = lookOf(cell);
      const last = spans.at(-1);
      const isSame =
        last?.color === look.color && last.background === look.background && last.marks === look.marks;
      const span = isSame ? last : { column, characters: [], widths: [], ...look };
      if (!isSame) spans.push(span);
      span.characters.push(cell.getChars() || " ");
      span.widths.push(cell.getWidth());
    }
    return spans.filter(
      ({ background, characters }) => background !== undefined || characters.some((each) => each !== " "),
    );
  });
}

function lookOf(cell: IBufferCell): Pick<Span, "color" | "background" | "marks"> {
  const front = cell.isFgDefault() ? TEXT : colorOf(cell.getFgColor(), Boolean(cell.isFgRGB()));
  const back = cell.isBgDefault() ? undefined : colorOf(cell.getBgColor(), Boolean(cell.isBgRGB()));
  const names = Object.keys(MARKS) as Array<keyof typeof MARKS>;
  const marks = names.flatMap((name) => (cell[name]() ? [MARKS[name]] : [])).join(";");
  return cell.isInverse()
    ? { color: back ?? PAPER, background: front, marks }
    : { color: front, background: back, marks };
}

/** @param color a number of the 256 colours, or `0xrrggbb` */
function colorOf(color: number, isRgb: boolean): string {
  if (isRgb) return hex([color >> 16, (color >> 8) & 255, color & 255]);
  if (color < 16) return FIRST_16[color]!;
  if (color >= 232) return hex(Array(3).fill(8 + (color - 232) * 10));
  const cube = color - 16;
  return hex([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => CUBE_STEPS[step]!));
}

function hex(parts: readonly number[]): string {
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Draws lines of a terminal as SVG. @param title describes the picture for readers who cannot see it */
export function drawStill(rows: readonly Row[], columns: number, title: string): string {
  const filled = rows.slice(0, rows.findLastIndex((row) => row.length > 0) + 1);
  const width = Math.round(columns * WIDTH + 2 * MARGIN);
  const height = Math.round(filled.length * HEIGHT + 2 * MARGIN);
  const classes = new Map<string, string>();
  const classOf = (css: string) => {
    if (!classes.has(css)) classes.set(css, `c${classes.size.toString(36)}`);
    return classes.get(css)!;
  };
  const lines = filled.flatMap((row, at) =>
    row.length === 0
      ? []
      : [
          `<g transform="translate(0 ${at * HEIGHT})">${row.map((span) => drawSpan(span, classOf)).join("")}</g>`,
        ],
  );
  const rules = [...classes].map(([css, name]) => `.${name}{${css}}`);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>text{font:14px ${FONT};white-space:pre}.l{fill:none}.paper{fill:${PAPER};stroke:#3b404a}`,
    `${rules.join("\n")}</style>`,
    `<rect class="paper" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    `<g transform="translate(${MARGIN} ${MARGIN})">`,
    ...lines,
    "</g></svg>",
  ].join("\n")}\n`;
}

function drawSpan(span: Span, classOf: (css: string) => string): string {
  const { color, background, marks } = span;
  const columns = span.widths.reduce((sum, each) => sum + each, 0);
  const fill = `fill:${color}`;
  let column = span.column;
  const letters: Letter[] = [];
  const shapes: Shape[] = [];
  for (const [at, character] of span.characters.entries()) {
    const shape = shapeOf(character, x(column));
    if (shape === undefined) letters.push({ column, text: character });
    else shapes.push(shape);
    column += span.widths[at]!;
  }
  const paths = [...Map.groupBy(shapes, ({ weight = "", opacity = "" }) => `${weight} ${opacity}`).values()];
  const drawn = paths.map((group) => {
    const [{ weight, opacity }] = group as [Shape];
    const path = group.map((shape) => shape.path).join("");
    return weight === undefined
      ? `<path class="${classOf(fill)}" opacity="${opacity}" d="${path}"/>`
      : `<path class="l ${classOf(`stroke:${color}`)}" stroke-width="${weight}" d="${path}"/>`;
  });
  const back =
    background === undefined
      ? ""
      : `<rect class="${classOf(`fill:${background}`)}" x="${x(span.column)}" width="${x(columns)}" height="${HEIGHT}"/>`;
  return `${back}${drawn.join("")}${drawWords(letters, classOf(marks === "" ? fill : `${fill};${marks}`))}`;
}

interface Letter {
  column: number;
  text: string;
}

/** Plain words are stretched to their width; every other character starts at its column. */
function drawWords(letters: readonly Letter[], name: string): string {
  const words: Letter[] = [];
  for (const { column, text } of letters) {
    const last = words.at(-1);
    const isNext = last !== undefined && last.column + last.text.length === column;
    if (isNext && PLAIN.test(last.text) && PLAIN.test(text)) last.text += text;
    else words.push({ column, text });
  }
  return words
    .map(({ column, text }) => {
      const start = column + text.length - text.trimStart().length;
      const shown = text.trim();
      if (shown === "") return "";
      const stretch = PLAIN.test(shown) && shown.length > 1 ? ` textLength="${x(shown.length)}"` : "";
      return `<text class="${name}" x="${x(start)}" y="${BASELINE}"${stretch}>${escaped(shown)}</text>`;
    })
    .join("");
}

/** Sides to which the lines of a character go: left, right, up, down. */
const ARMS: Readonly<Record<string, string>> = {
  ...{ "─": "lr", "━": "lr", "│": "ud", "┃": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "udr" },
  ...{ "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu" },
  ...{ "╵": "u", "╷": "d", "═": "lr", "╞": "udr", "╡": "udl" },
};

interface Shape {
  path: string;
  /** Width of the stroke; undefined for a filled area. */
  weight?: number;
  /** Opacity of a filled area. */
  opacity?: number;
}

/** A line or block character; undefined for letters and signs. */
function shapeOf(character: string, left: number): Shape | undefined {
  const [centre, middle] = [round(left + WIDTH / 2), HEIGHT / 2];
  const arms = ARMS[character];
  if (arms !== undefined) {
    const ends = { l: `H${left}`, r: `H${round(left + WIDTH)}`, u: "V0", d: `V${HEIGHT}` };
    const lines = Array.from(arms, (arm) => `M${centre} ${middle}${ends[arm as keyof typeof ends]}`);
    return { path: lines.join(""), weight: "━┃═".includes(character) ? 2.6 : 1.2 };
  }
  if ("┄╌".includes(character)) return { path: `M${left} ${middle}h2m1 0h2m1 0h1.6`, weight: 1.2 };
  const box = (top: number, eighths: number, opacity = 1): Shape => {
    const width = round((eighths * WIDTH) / 8);
    return { path: `M${left} ${top}h${width}V${HEIGHT}h-${width}z`, opacity };
  };
  const shade = "░▒▓".indexOf(character);
  if (shade >= 0) return box(0, 8, (shade + 1) / 4);
  const block = character.codePointAt(0)! - 0x2580;
  if (block >= 1 && block <= 8) return box(HEIGHT - (block * HEIGHT) / 8, 8);
  return block > 8 && block <= 15 ? box(0, 16 - block) : undefined;
}

/** Columns in pixels. */
function x(columns: number): number {
  return round(columns * WIDTH);
}

function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
