import { stripTerminalSequences, visibleWidth } from "@earendil-works/pi-tui";

/** The lines of a frame. */
export interface Frame {
  readonly lines: readonly string[];
  /** So many of them, the first, are kept: when they leave the screen at its top, they can be scrolled back to. */
  readonly kept: number;
}

/** So many lines say where something stands. */
const LANDMARK_LINES = 4;

/** @returns the first line that differs; the length of the shorter one where none does */
export function firstDifference(before: Frame, after: Frame): number {
  const end = Math.min(before.kept, after.kept);
  for (let at = 0; at < end; at += 1) if (before.lines[at] !== after.lines[at]) return at;
  return end;
}

/** So many lines above what differs say what it belongs to. */
const MOST_HEAD_LINES = 10;

/** @returns where the paragraph or the block begins in which two frames differ first */
export function differentBlock(before: Frame, after: Frame): number {
  const first = firstDifference(before, after);
  let at = first;
  while (at > 0 && first - at < MOST_HEAD_LINES && hasText(after.lines[at - 1]!)) at -= 1;
  return at;
}

/**
 * Where the lines above a line are now: what stands above a place of the former frame, stands above the place that is
 * returned. @returns undefined where they are nowhere
 */
export function movedTo(before: Frame, at: number, after: Frame): number | undefined {
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
export function stillAt(before: Frame, from: number, after: Frame): number | undefined {
  const end = movedTo(before, before.kept, after);
  const start = end === undefined ? -1 : end - (before.kept - from);
  if (start < 0) return undefined;
  const isThere = before.lines.slice(from, before.kept).every((line, at) => line === after.lines[start + at]);
  return isThere ? start : undefined;
}

/** So many letters say where a text goes on. */
const LANDMARK_LETTERS = 60;
/** More text does not come in a frame. */
const MOST_NEW_LETTERS = 20_000;

/** Where a text stands that was laid out for another width, and may have grown: in doubt, too far above. */
export function sameText(before: Frame, at: number, after: Frame): number {
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
