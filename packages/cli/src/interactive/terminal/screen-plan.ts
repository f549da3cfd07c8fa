import { stripTerminalSequences, visibleWidth } from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";

/** So many lines that have changed above the screen are printed anew at most. */
const MOST_PRINTED_LINES = 1_000;

/** What a terminal shows of a chat, and what it has of it above its screen. */
export interface Shown {
  readonly frame: Frame;
  /** The frame's first line on the screen. */
  readonly top: number;
  /** So many kept lines are in the scrollback, or were there as something else. */
  readonly scrolled: number;
}

/** Why a frame is drawn. */
export type ScreenChange =
  /** Nothing is drawn yet, or somebody else had the terminal. */
  | { kind: "begin" }
  /** The terminal has another size, and has pushed so many lines, the first, off its screen. */
  | { kind: "size"; pushed: number; hasOtherColumns: boolean }
  /** Lines above the screen have unfolded: they are to be read by scrolling up. */
  | { kind: "unfolded" }
  /** Another chat: what was on the screen, and what is new, is to be read by scrolling up. */
  | { kind: "other" }
  | { kind: "more" };

/** What happens to what stands on the screen, before anything is drawn. */
export type Before =
  /** It stays, and the lines that differ are drawn over it. */
  | { kind: "stays" }
  /** It is none of the chat: what is drawn begins where the cursor is. */
  | { kind: "foreign" }
  | { kind: "goes" }
  /** It goes, and a rule stands in its place, above what is drawn. */
  | { kind: "goesForRule" }
  /** Of its lines so many, the first, go, since the scrollback has them; so many behind those, and a rule, scroll off. */
  | { kind: "scrollsOff"; known: number; left: number };

/**
 * How a frame comes to the screen. A line that has left the screen stays as it was; what changes above the screen is seen
 * when it is drawn there.
 */
interface ScreenPlan {
  readonly before: Before;
  /** From the screen's first row, or from the cursor: the last ones that fit are seen, those above them scroll off. */
  readonly lines: readonly string[];
  /** What is shown then. */
  readonly shown: Shown;
}

interface ScreenPlanOptions {
  shown: Shown;
  frame: Frame;
  /** The rows of the terminal now. */
  rows: number;
  /** What stands on the screen, line by line, with what lies over the chat. */
  onScreen: readonly string[];
  change: ScreenChange;
}

export function screenPlan(options: ScreenPlanOptions): ScreenPlan {
  const { frame, rows, onScreen } = options;
  const top = Math.max(0, frame.lines.length - rows);
  const { before, from } = startOf(options, top);
  // Of what is not kept, nothing scrolls off.
  const above = frame.lines.slice(from, Math.min(top, frame.kept));
  const scrolled = Math.min(frame.kept, Math.max(from, top));
  const lines = [...above, ...frame.lines.slice(top)];
  return {
    before: before.kind === "stays" && needsRows(above, onScreen) ? { kind: "goes" } : before,
    lines,
    shown: { frame, top, scrolled },
  };
}

interface Start {
  before: Before;
  /** The first line of the frame that is printed where it is above the screen. */
  from: number;
}

/** @param top the first line that is on the screen then */
function startOf({ shown, frame, change }: ScreenPlanOptions, top: number): Start {
  switch (change.kind) {
    case "begin":
      return { before: { kind: "foreign" }, from: Math.min(shown.scrolled, frame.kept) };
    case "size":
      return { before: { kind: "goes" }, from: afterPushed(shown, frame, change) };
    case "unfolded":
      return hasGrownAbove(shown, frame)
        ? { before: { kind: "goesForRule" }, from: printedFrom(top, differentBlock(shown.frame, frame)) }
        : goneOn(shown, frame);
    case "other":
      return another(shown, frame, top);
    case "more":
      return goneOn(shown, frame);
  }
}

/**
 * What the terminal has pushed off the screen is not printed again. A terminal that has more rows takes lines back, or
 * not: printed from where they begin, they are pushed to where they were.
 */
function afterPushed(
  { frame: former, top, scrolled }: Shown,
  frame: Frame,
  { pushed, hasOtherColumns }: { pushed: number; hasOtherColumns: boolean },
): number {
  const gone = Math.max(scrolled, Math.min(former.kept, top + pushed));
  return hasOtherColumns ? sameText(former, gone, frame) : Math.min(gone, frame.kept);
}

function hasGrownAbove({ frame: former, scrolled }: Shown, frame: Frame): boolean {
  return frame.kept > former.kept && firstDifference(former, frame) < scrolled;
}

function another(shown: Shown, frame: Frame, top: number): Start {
  const { frame: former, scrolled } = shown;
  const still = stillAt(former, scrolled, frame);
  if (still !== undefined || former.kept === 0) {
    const from = Math.min(still ?? 0, scrolled === 0 ? 0 : frame.kept);
    return { before: { kind: "stays" }, from: Math.min(frame.kept, from) };
  }
  const kept = Math.max(0, former.kept - shown.top);
  const known = Math.max(0, Math.min(kept, scrolled - shown.top));
  return {
    before: { kind: "scrollsOff", known, left: kept - known },
    from: printedFrom(top, firstDifference(former, frame)),
  };
}

/** Where the lines of the scrollback end in the frame; where they are nowhere: as they did. */
function goneOn({ frame: former, scrolled }: Shown, frame: Frame): Start {
  const moved = movedTo(former, scrolled, frame);
  return { before: { kind: "stays" }, from: Math.min(frame.kept, moved ?? scrolled) };
}

/** Of what is printed anew, the first line. */
function printedFrom(top: number, wanted: number): number {
  return Math.min(top, Math.max(wanted, top - MOST_PRINTED_LINES));
}

/** An image that scrolls off is drawn into rows that are there: not over what stands on the screen. */
function needsRows(above: readonly string[], onScreen: readonly string[]): boolean {
  return above.some((line, at) => drawsImage(line) && line !== onScreen[at]);
}

/** The lines of a frame. */
export interface Frame {
  readonly lines: readonly string[];
  /** So many of them, the first, are kept: when they leave the screen at its top, they can be scrolled back to. */
  readonly kept: number;
}

/** So many lines mark a place. */
const LANDMARK_LINES = 4;

/** @returns the first line that differs; the length of the shorter one where none does */
function firstDifference(before: Frame, after: Frame): number {
  const end = Math.min(before.kept, after.kept);
  for (let at = 0; at < end; at += 1) if (before.lines[at] !== after.lines[at]) return at;
  return end;
}

/** So many lines above what differs can belong to it. */
const MOST_HEAD_LINES = 10;

/** @returns where the paragraph or the block begins in which two frames differ first */
function differentBlock(before: Frame, after: Frame): number {
  const first = firstDifference(before, after);
  let at = first;
  while (at > 0 && first - at < MOST_HEAD_LINES && hasText(after.lines[at - 1]!)) at -= 1;
  return at;
}

/**
 * Where the lines above a line are now: what stands above a place of the former frame, stands above the place that is
 * returned. @returns undefined where they are nowhere
 */
function movedTo(before: Frame, at: number, after: Frame): number | undefined {
  const mark = before.lines.slice(Math.max(0, at - LANDMARK_LINES), at);
  if (mark.length === 0) return 0;
  const isAt = (end: number) =>
    end >= mark.length && mark.every((line, index) => line === after.lines[end - mark.length + index]);
  if (at <= after.kept && isAt(at)) return at;
  // Blank lines are everywhere.
  if (!mark.some(hasText)) return undefined;
  for (let end = after.kept; end >= mark.length; end -= 1) if (isAt(end)) return end;
  return undefined;
}

/** @returns where all kept lines of the former frame from a place on stand now; undefined where one is missing */
function stillAt(before: Frame, from: number, after: Frame): number | undefined {
  const end = movedTo(before, before.kept, after);
  const start = end === undefined ? -1 : end - (before.kept - from);
  if (start < 0) return undefined;
  const isThere = before.lines.slice(from, before.kept).every((line, at) => line === after.lines[start + at]);
  return isThere ? start : undefined;
}

/** So many letters mark a place in a text. */
const LANDMARK_LETTERS = 60;
/** More text does not come in a frame. */
const MOST_NEW_LETTERS = 20_000;

/** Where a text stands that was laid out for another width, and may have grown: in doubt, too far above. */
function sameText(before: Frame, at: number, after: Frame): number {
  const behind = before.lines.slice(at, before.kept).map(lettersOf).join("");
  // Nothing that could be looked for stands behind it: it is at the end, unless that has moved.
  if (behind === "" && endOf(before) === endOf(after)) return Math.max(0, after.kept - (before.kept - at));
  const starts: number[] = [];
  let first = after.kept;
  let text = "";
  while (first > 0 && text.length < behind.length + MOST_NEW_LETTERS) {
    first -= 1;
    text = lettersOf(after.lines[first]!) + text;
    starts.unshift(text.length);
  }
  const latest = text.length - behind.length;
  const found = text.lastIndexOf(behind.slice(0, LANDMARK_LETTERS), Math.max(0, latest));
  const place = found < 0 || behind === "" ? Math.max(0, latest) : found;
  const line = starts.findLastIndex((length) => text.length - length <= place);
  let start = first + Math.max(0, line);
  // Blank lines have no letters: those that it begins with stand above them.
  const isBlank = (of: string | undefined) => of !== undefined && !hasText(of);
  for (let blank = at; blank < before.kept && isBlank(before.lines[blank]); blank += 1)
    if (isBlank(after.lines[start - 1])) start -= 1;
  return start;
}

/** The last letters of what is kept. */
function endOf({ lines, kept }: Frame): string {
  let end = "";
  for (let at = kept - 1; at >= 0 && end.length < LANDMARK_LETTERS; at -= 1)
    end = lettersOf(lines[at]!) + end;
  return end.slice(-LANDMARK_LETTERS);
}

/** How many rows of a terminal a line takes once its width has changed. */
export function rowsOf(line: string, width: number): number {
  return Math.max(1, Math.ceil(visibleWidth(line) / Math.max(1, width)));
}

function hasText(line: string): boolean {
  return lettersOf(line) !== "";
}

function lettersOf(line: string): string {
  return stripTerminalSequences(line).replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
