import { stripTerminalSequences, visibleWidth } from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";

/** Maximum number of lines above the screen that are printed again. */
const MAX_PRINTED_LINES = 1_000;

export interface Frame {
  readonly lines: readonly string[];
  /** Number of the first lines that stay readable in the scrollback. */
  readonly kept: number;
}

export interface Shown {
  readonly frame: Frame;
  /** The frame's first line on the screen. */
  readonly top: number;
  /** Number of kept lines that are in the scrollback, perhaps in an earlier version. */
  readonly scrolled: number;
}

/** The reason for a frame. */
export type ScreenChange =
  /** Nothing is drawn yet, or another program had the terminal. */
  | { kind: "begin" }
  /** The terminal has another size and has pushed its first `pushed` lines off the screen. */
  | { kind: "size"; pushed: number; hasOtherColumns: boolean }
  /** The chat is another, or shows more: its new lines must become readable, and the lines on the screen stay so. */
  | { kind: "other" }
  | { kind: "more" };

/** The change of the screen before anything is drawn. */
export type Before =
  /** Lines that differ are drawn over the present ones. */
  | { kind: "stays" }
  /** The present lines belong to another program. Draws from the cursor. */
  | { kind: "foreign" }
  | { kind: "goes" }
  /** Removes the first `known` lines, which the scrollback has, scrolls the next `left` and a rule off, removes the rest. */
  | { kind: "scrollsOff"; known: number; left: number };

interface ScreenPlan {
  readonly before: Before;
  /** Drawn from the screen's first row, or from the cursor. The lines that do not fit scroll off. */
  readonly lines: readonly string[];
  readonly shown: Shown;
}

interface ScreenPlanOptions {
  shown: Shown;
  frame: Frame;
  rows: number;
  change: ScreenChange;
}

/** Plans a frame. Lines that have left the screen never change. */
export function screenPlan(options: ScreenPlanOptions): ScreenPlan {
  const { frame, rows } = options;
  const top = Math.max(0, frame.lines.length - rows);
  const { before, from } = startOf(options, top);
  const above = frame.lines.slice(from, Math.min(top, frame.kept));
  const scrolled = Math.min(frame.kept, Math.max(from, top));
  return {
    before,
    lines: [...above, ...frame.lines.slice(top)],
    shown: { frame, top, scrolled },
  };
}

interface Start {
  before: Before;
  /** The first kept line that is printed if it is above the screen. */
  from: number;
}

/** @param top the frame's first line on the screen */
function startOf({ shown, frame, change }: ScreenPlanOptions, top: number): Start {
  switch (change.kind) {
    case "begin":
      return { before: { kind: "foreign" }, from: Math.min(shown.scrolled, frame.kept) };
    case "size":
      return { before: { kind: "goes" }, from: afterPushed(shown, frame, change) };
    case "other":
      return replaceFrame(shown, frame, top);
    case "more":
      return continueFrame(shown, frame);
  }
}

/** Pushed lines are not printed again. A terminal with more rows may take lines back: they are pushed off again. */
function afterPushed(
  { frame: former, top, scrolled }: Shown,
  frame: Frame,
  { pushed, hasOtherColumns }: { pushed: number; hasOtherColumns: boolean },
): number {
  const gone = Math.max(scrolled, Math.min(former.kept, top + pushed));
  return hasOtherColumns ? findReflowed(former, gone, frame) : Math.min(gone, frame.kept);
}

/** Continues below the lines of the scrollback, wherever these are in the frame now. */
function continueFrame({ frame: former, scrolled }: Shown, frame: Frame): Start {
  const moved = findMoved(former, scrolled, frame) ?? scrolled;
  return { before: { kind: "stays" }, from: Math.min(frame.kept, moved) };
}

/** Prints the block of the first new line and all that follows, unless only lines below the scrollback are new. */
function replaceFrame(shown: Shown, frame: Frame, top: number): Start {
  const { frame: former, scrolled } = shown;
  const oldLines = new Set(former.lines.slice(0, former.kept));
  const newLines = new Set(frame.lines.slice(0, frame.kept));
  const firstNew = frame.lines.findIndex((line, at) => at >= frame.kept || !oldLines.has(line));
  const added = firstNew < 0 ? frame.kept : firstNew;
  const isLost = former.lines.slice(scrolled, former.kept).some((line) => !newLines.has(line));
  const moved = findMoved(former, scrolled, frame);
  if (!isLost && moved !== undefined && moved <= added)
    return { before: { kind: "stays" }, from: Math.min(frame.kept, moved) };
  const kept = Math.max(0, former.kept - shown.top);
  const known = Math.max(0, Math.min(kept, scrolled - shown.top));
  const block = Math.max(0, frame.lines.lastIndexOf("", added));
  return {
    before: { kind: "scrollsOff", known, left: isLost ? kept - known : 0 },
    from: Math.min(top, Math.max(block, top - MAX_PRINTED_LINES)),
  };
}

/** Number of lines that identify a place. */
const LANDMARK_LINES = 4;

/** Finds a line of the former frame by the lines above it. Returns undefined if they are gone. */
function findMoved(former: Frame, at: number, frame: Frame): number | undefined {
  const mark = former.lines.slice(Math.max(0, at - LANDMARK_LINES), at);
  if (mark.length === 0) return 0;
  const isAt = (end: number) =>
    end >= mark.length && mark.every((line, index) => line === frame.lines[end - mark.length + index]);
  if (at <= frame.kept && isAt(at)) return at;
  // Blank lines are everywhere.
  if (mark.every(isBlank)) return undefined;
  for (let end = frame.kept; end >= mark.length; end -= 1) if (isAt(end)) return end;
  return undefined;
}

/** Number of letters that identify a place in a text. */
const LANDMARK_LETTERS = 60;
/** Maximum number of letters that a frame adds. */
const MAX_NEW_LETTERS = 20_000;

/** Finds a line of the former frame in a frame of another width by the letters above it, else by those below it. */
function findReflowed({ lines, kept }: Frame, at: number, frame: Frame): number {
  const mark = lettersOf(lines.slice(Math.max(0, at - LANDMARK_LETTERS), at).join()).slice(-LANDMARK_LETTERS);
  const below = lettersOf(lines.slice(at, kept).join());
  let first = frame.kept;
  let text = "";
  /** Letters from each line to the end. */
  const left = [0];
  while (first > 0 && text.length < below.length + MAX_NEW_LETTERS) {
    first -= 1;
    text = lettersOf(frame.lines[first]!) + text;
    left.unshift(text.length);
  }
  const latest = Math.max(0, text.length - below.length);
  const found = mark === "" ? -1 : text.lastIndexOf(mark, latest - mark.length);
  const lettersLeft = text.length - (found < 0 ? latest : found + mark.length);
  let line = first + left.findIndex((_, index) => (left[index + 1] ?? -1) < lettersLeft);
  // Blank lines below the place have no letters.
  for (let blank = at; blank < kept && isBlank(lines[blank]) && isBlank(frame.lines[line - 1]); blank += 1)
    line -= 1;
  return line;
}

/** Number of rows that a line takes in a terminal of another width. */
function rowsOf(line: string, width: number): number {
  return Math.max(1, Math.ceil(visibleWidth(line) / Math.max(1, width)));
}

function isBlank(line: string | undefined): boolean {
  return line !== undefined && lettersOf(line) === "";
}

function lettersOf(line: string): string {
  return stripTerminalSequences(line).replaceAll(/[^\p{L}\p{N}]+/gu, "");
}

/** The lines of a screen, and the cursor in it from 0. */
export interface OnScreen {
  readonly lines: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/** A terminal's screen after a resize. */
interface Reflow {
  /** Number of the first lines that were pushed off the screen. */
  readonly pushed: number;
  /** Rows above the cursor, with the pushed ones. */
  readonly rowsAbove: number;
  /** Additional rows below the cursor's line. */
  readonly rowsMoreBelow: number;
}

/** Computes how a terminal lays out its screen for another size. */
export function reflow(
  { lines, cursorRow, cursorColumn }: OnScreen,
  { columns, rows }: { columns: number; rows: number },
): Reflow {
  const heights = lines.map((line) => (drawsImage(line) ? 1 : rowsOf(line, columns)));
  const rowsAbove =
    heights.slice(0, cursorRow).reduce((sum, each) => sum + each, 0) + Math.floor(cursorColumn / columns);
  let pushed = 0;
  for (let excess = rowsAbove + 1 - rows; pushed < cursorRow; pushed += 1) {
    excess -= heights[pushed]!;
    if (excess < 0) break;
  }
  const rowsMoreBelow = heights.slice(cursorRow).reduce((sum, each) => sum + each - 1, 0);
  return { pushed, rowsAbove, rowsMoreBelow };
}
