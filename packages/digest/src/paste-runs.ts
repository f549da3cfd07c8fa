import { type Kind, type LineShape, lineShapes } from "./line-shapes.ts";

/** Lines in a row that nobody typed. */
export interface Run {
  from: number;
  /** Behind its last line. */
  to: number;
  kind: Kind | "text";
}

/** The pasted blocks in lines without a frame; those too short to be left out are not among them. */
export function runsIn(lines: readonly string[]): Run[] {
  const shapes = lineShapes(lines);
  const runs: Run[] = [];
  for (let at = 0; at < shapes.length; ) {
    if (shapes[at]!.verdict !== "made") {
      at += 1;
      continue;
    }
    const to = endOfRun(shapes, at);
    const run = trimmed(shapes, at, to);
    const kind = kindOfRun(shapes.slice(run.from, run.to));
    if (isLong(shapes.slice(run.from, run.to), kind)) runs.push({ ...run, kind: kind ?? "text" });
    at = to;
  }
  return runs;
}

const mostBlankLines = 2;

/** It goes on through blank lines and lines that may be either, and ends behind the last made one. */
function endOfRun(shapes: readonly LineShape[], from: number): number {
  let to = from + 1;
  let blanks = 0;
  for (let at = from + 1; at < shapes.length; at++) {
    const { verdict } = shapes[at]!;
    if (verdict === "own") break;
    blanks = verdict === "blank" ? blanks + 1 : 0;
    if (blanks > mostBlankLines) break;
    if (verdict === "made") to = at + 1;
  }
  return to;
}

const mostAsideLines = 2;

/** A command or a path in a paragraph of its own beside a block belongs to the user's words. */
function trimmed(shapes: readonly LineShape[], from: number, to: number): { from: number; to: number } {
  const isAside = (start: number, end: number) =>
    end - start <= mostAsideLines && shapes.slice(start, end).every(({ kind }) => kind === undefined);
  let first = from;
  let last = to;
  const firstBlank = shapes
    .slice(from, from + mostAsideLines + 1)
    .findIndex(({ verdict }) => verdict === "blank");
  if (firstBlank > 0 && isAside(from, from + firstBlank)) first = nextFilled(shapes, from + firstBlank, 1);
  const tail = shapes.slice(Math.max(first, to - mostAsideLines - 1), to);
  const lastBlank = tail.findLastIndex(({ verdict }) => verdict === "blank");
  if (lastBlank >= 0 && isAside(to - tail.length + lastBlank + 1, to)) {
    last = nextFilled(shapes, to - tail.length + lastBlank, -1) + 1;
  }
  return first < last ? { from: first, to: last } : { from, to };
}

function nextFilled(shapes: readonly LineShape[], from: number, step: 1 | -1): number {
  let at = from;
  while (shapes[at]?.verdict === "blank") at += step;
  return at;
}

/** The mark that most lines bear, where a third of the made ones bear any; a trace goes before what is around it. */
function kindOfRun(shapes: readonly LineShape[]): Kind | undefined {
  const counts = new Map<Kind, number>();
  let made = 0;
  for (const { kind, verdict } of shapes) {
    if (verdict === "made") made += 1;
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const marked = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (marked === 0 || marked * 3 < made) return undefined;
  if ((counts.get("stack trace") ?? 0) >= 3) return "stack trace";
  return [...counts].reduce((most, other) => (other[1] > most[1] ? other : most))[0];
}

/** Fewer lines of a kind stay: they may be a wish, an example, or a list. */
const fewestLines: Readonly<Record<Kind, number>> = {
  "stack trace": 4,
  log: 4,
  JSON: 5,
  markup: 5,
  table: 4,
  listing: 5,
  quote: 3,
  configuration: 6,
  "terminal session": 7,
  screen: 4,
  code: 5,
  data: 6,
  diff: 4,
};
const fewestUnsureLines = 13;
const fewestUnsureChars = 1_000;
const fewestChars = 700;

function isLong(shapes: readonly LineShape[], kind: Kind | undefined): boolean {
  const filled = shapes.filter(({ verdict }) => verdict !== "blank");
  if (filled.length < 2) return false;
  const chars = filled.reduce((sum, shape) => sum + shape.chars, 0);
  return kind === undefined
    ? filled.length >= fewestUnsureLines || chars > fewestUnsureChars
    : filled.length >= fewestLines[kind] || chars > fewestChars;
}
