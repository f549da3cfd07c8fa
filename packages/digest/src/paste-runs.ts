import { type LineShape, lineShapes } from "./line-shapes.ts";
import type { Kind } from "./paste-marks.ts";

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
  return joined(coresIn(shapes), shapes)
    .filter(isLong)
    .map((core) => ({ from: core.from, to: core.to, kind: kindOf(core) ?? "text" }));
}

/** Made lines in a row, with what may be either between them. */
interface Core {
  from: number;
  to: number;
  /** Whether it is a paragraph, without words of the user before or behind it. */
  isWhole: boolean;
  made: number;
  filled: number;
  chars: number;
  kinds: Map<Kind, number>;
}

function coresIn(shapes: readonly LineShape[]): Core[] {
  const cores: Core[] = [];
  for (let at = 0; at < shapes.length; at++) {
    if (shapes[at]!.verdict !== "made") continue;
    const to = endOfCore(shapes, at);
    cores.push(coreOf(shapes, ...withoutAsides(shapes, at, to)));
    at = to - 1;
  }
  return cores;
}

function endOfCore(shapes: readonly LineShape[], from: number): number {
  let to = from + 1;
  for (let at = to; at < shapes.length; at++) {
    const { verdict } = shapes[at]!;
    if (verdict === "own" || verdict === "blank") break;
    if (verdict === "made") to = at + 1;
  }
  return to;
}

/** A path or a command right above or below a block that bears marks is the user's. */
function withoutAsides(shapes: readonly LineShape[], from: number, to: number): [from: number, to: number] {
  const isAside = (at: number) => shapes[at]!.kind === undefined && !shapes[at]!.isIndented;
  const isMarked = (at: number) => shapes[at]?.kind !== undefined;
  const first = to - from > 2 && isAside(from) && isMarked(from + 1) ? from + 1 : from;
  const end = to - first > 2 && isAside(to - 1) && isMarked(to - 2) ? to - 1 : to;
  return [first, end];
}

function coreOf(shapes: readonly LineShape[], from: number, to: number): Core {
  const isWhole = isBlank(shapes, from - 1) && isBlank(shapes, to);
  const core: Core = { from, to, isWhole, made: 0, filled: to - from, chars: 0, kinds: new Map() };
  for (const { verdict, kind, chars } of shapes.slice(from, to)) {
    core.chars += chars;
    if (verdict === "made") core.made += 1;
    if (kind !== undefined) core.kinds.set(kind, (core.kinds.get(kind) ?? 0) + 1);
  }
  return core;
}

function isBlank(shapes: readonly LineShape[], at: number): boolean {
  return (shapes[at]?.verdict ?? "blank") === "blank";
}

const mostGapLines = 2;
/** With words of the user at one end: an introduction, or a question right behind it. */
const fewestJoinedLines = 3;
/** From, to and subject may be a wish. */
const fewestMailHeads = 4;

/** One paste may have blank lines in it; a command, a path or a short list in a paragraph between pastes is the user's. */
function joined(cores: readonly Core[], shapes: readonly LineShape[]): Core[] {
  const all: Core[] = [];
  for (const core of cores) {
    const last = all.at(-1);
    if (last !== undefined && isOnePaste(last, core, shapes)) addTo(last, core);
    else all.push(core);
  }
  return all;
}

function isOnePaste(first: Core, second: Core, shapes: readonly LineShape[]): boolean {
  const gap = shapes.slice(first.to, Math.min(second.from, first.to + mostGapLines + 1));
  if (
    gap.length > mostGapLines ||
    !gap.every(({ verdict, kind }) => verdict === "blank" || (verdict === "either" && kind !== undefined))
  )
    return false;
  return isPaste(first) && (isPaste(second) || shapes[second.from]!.isIndented);
}

function isPaste(core: Core): boolean {
  const kind = kindOf(core);
  if (isLong(core)) return true;
  if (kind === undefined || kind === "quote") return false;
  return core.isWhole || core.made >= (kind === "e-mail" ? fewestMailHeads : fewestJoinedLines);
}

function addTo(core: Core, other: Core): void {
  core.to = other.to;
  core.isWhole &&= other.isWhole;
  core.made += other.made;
  core.filled += other.filled;
  core.chars += other.chars;
  for (const [kind, count] of other.kinds) core.kinds.set(kind, (core.kinds.get(kind) ?? 0) + count);
}

/** The mark that most lines bear, where a third of the made ones bear any; a trace goes before what is around it. */
function kindOf({ made, kinds }: Core): Kind | undefined {
  const marked = [...kinds.values()].reduce((sum, count) => sum + count, 0);
  if (marked === 0 || marked * 3 < made) return undefined;
  if ((kinds.get("stack trace") ?? 0) >= 3) return "stack trace";
  return [...kinds].reduce((most, other) => (other[1] > most[1] ? other : most))[0];
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
  "e-mail": 5,
  configuration: 7,
  "terminal session": 7,
  screen: 4,
  code: 5,
  data: 4,
  diff: 4,
};
const fewestChars = 700;
const fewestUnsureLines = 13;
const fewestUnsureChars = 1_000;

/** One long line keeps the words at its ends: that is not for here. */
function isLong(core: Core): boolean {
  if (core.filled < 2) return false;
  const kind = kindOf(core);
  return kind === undefined
    ? core.filled >= fewestUnsureLines || core.chars > fewestUnsureChars
    : core.filled >= fewestLines[kind] || core.chars > fewestChars;
}
