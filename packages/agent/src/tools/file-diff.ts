import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from "diff";
import { countLines } from "./text-limits.ts";

/** Lines around a change, enough to see where it is. */
const CONTEXT_LINES = 3;
/** Finding the smallest difference of two large, different texts takes minutes; nobody needs it that small. */
const MAX_DIFF_MS = 1_000;

/** How a file changed. */
export interface FileDiff {
  /** Unified, without file names; empty when there was no time to find it. */
  diff: string;
  /** Lines. */
  added: number;
  removed: number;
  /** In the new file, from 1; absent when nothing changed. */
  firstChangedLine?: number | undefined;
}

export function fileDiff(before: string, after: string): FileDiff {
  const patch = structuredPatch("", "", before, after, undefined, undefined, {
    context: CONTEXT_LINES,
    timeout: MAX_DIFF_MS,
  });
  if (patch === undefined) {
    return { diff: "", added: countLines(after), removed: countLines(before), firstChangedLine: 1 };
  }
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const count = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  return {
    diff: formatPatch(patch, OMIT_HEADERS),
    added: count("+"),
    removed: count("-"),
    firstChangedLine: patch.hunks[0] && firstChange(patch.hunks[0]),
  };
}

function firstChange({ newStart, lines }: StructuredPatchHunk): number {
  const unchanged = lines.findIndex((line) => !line.startsWith(" "));
  return Math.max(1, newStart) + Math.max(0, unchanged);
}
