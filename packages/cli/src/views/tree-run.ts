import type { SessionTree } from "../session-tree.ts";

/** A line of a folded run: an entry with how many after it are folded away, or many turns folded into one line. */
export type RunItem = { at: number; folded: number } | { at: undefined; turns: number; folded: number };

/** So many turns of a run are shown at its beginning and at its end. */
const turnsAtStart = 4;
const turnsAtEnd = 5;

/**
 * A run without branches, folded: user messages stand for their turns, and what has weight of its own
 * (compactions, summaries of branches, labels, the current position, the run's ends) stands always.
 */
export function foldedRun(tree: SessionTree, run: readonly number[], leafId: string | null): RunItem[] {
  const end = run.findLast((at) => !isBookkeeping(tree, at)) ?? run[0];
  const landmarks = run.filter(
    (at) => at === run[0] || at === end || isTurn(tree, at) || isWeighty(tree, at, leafId),
  );
  const plainTurns = landmarks.filter((at) => at !== run[0] && at !== end && !isWeighty(tree, at, leafId));
  const hidden = new Set(
    plainTurns.length > turnsAtStart + turnsAtEnd + 1 ? plainTurns.slice(turnsAtStart, -turnsAtEnd) : [],
  );
  return lines(run, new Set(landmarks), hidden);
}

function lines(
  run: readonly number[],
  landmarks: ReadonlySet<number>,
  hidden: ReadonlySet<number>,
): RunItem[] {
  const items: RunItem[] = [];
  for (const at of run) {
    const last = items.at(-1);
    if (hidden.has(at)) {
      if (last?.at === undefined && last !== undefined) {
        last.turns += 1;
        last.folded += 1;
      } else items.push({ at: undefined, turns: 1, folded: 1 });
    } else if (landmarks.has(at)) items.push({ at, folded: 0 });
    else if (last !== undefined) last.folded += 1;
  }
  return items;
}

function isTurn(tree: SessionTree, at: number): boolean {
  return tree.entries[at]!.kind === "user";
}

/** Entries that say something about others: no place where somebody would want to stand. */
function isBookkeeping(tree: SessionTree, at: number): boolean {
  const { type } = tree.entries[at]!;
  return (
    type !== "message" && type !== "compaction" && type !== "branch_summary" && type !== "custom_message"
  );
}

function isWeighty(tree: SessionTree, at: number, leafId: string | null): boolean {
  const entry = tree.entries[at]!;
  const summary = entry.type === "compaction" || entry.type === "branch_summary";
  return summary || entry.id === leafId || tree.labelOf(at) !== undefined;
}
