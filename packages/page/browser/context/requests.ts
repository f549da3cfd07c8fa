import { computed } from "@preact/signals";
import type { CompactionFacts, PageModel, PageRequest } from "../../src/page-data.ts";
import { page } from "../page-store.ts";
import { shownPath } from "../session-tree.ts";

const onPath = computed(() => new Set(shownPath.value));

/** The requests of the branch that is shown that a model has counted, ascending by row. */
export const branchRequests = computed(() =>
  (page.value?.requests ?? []).filter(
    (request) => onPath.value.has(request.row) && (promptOf(request) > 0 || request.isOverflow === true),
  ),
);

export function promptOf({ input, cacheRead, cacheWrite }: PageRequest): number {
  return input + cacheRead + cacheWrite;
}

/** What happened between two requests, or to one. */
export interface ContextMark {
  kind: "compaction" | "undone" | "mask" | "overflow";
  row: number;
  /** Position of the first request behind it, of the refused one; behind the last one, their number. */
  at: number;
}

/** On the branch that is shown, by kind, in its order. */
export const contextMarks = computed<ContextMark[]>(() => {
  const requests = branchRequests.value;
  const on = onPath.value;
  const { compactions = [], masks = [] } = page.value ?? {};
  const behind = (row: number) => firstBehind(requests, row);
  return [
    ...compactions
      .filter(({ row }) => on.has(row))
      .map((facts) => ({
        kind: isUndoneOn(facts, on) ? ("undone" as const) : ("compaction" as const),
        row: facts.row,
        at: behind(facts.row),
      })),
    ...masks
      .filter(({ row }) => on.has(row))
      .map(({ row }) => ({ kind: "mask" as const, row, at: behind(row) })),
    ...requests.flatMap(({ isOverflow, row }, at) =>
      isOverflow ? [{ kind: "overflow" as const, row, at }] : [],
    ),
  ];
});

/** Marks by the request that they stand at. */
export const marksAt = computed(() => {
  const byRequest = new Map<number, ContextMark[]>();
  for (const mark of contextMarks.value) {
    const known = byRequest.get(mark.at);
    if (known === undefined) byRequest.set(mark.at, [mark]);
    else known.push(mark);
  }
  return byRequest;
});

/** Whether the branch that is shown undoes a compaction, and does not take that back. */
export function isUndoneHere(facts: CompactionFacts): boolean {
  return onPath.value.has(facts.row) ? isUndoneOn(facts, onPath.value) : facts.isUndone;
}

function isUndoneOn({ undoneAt, redoneAt }: CompactionFacts, on: ReadonlySet<number>): boolean {
  const latest = (rows: readonly number[]) => rows.findLast((row) => on.has(row)) ?? -1;
  return latest(undoneAt) > latest(redoneAt);
}

/** Position of the first request behind a row. */
function firstBehind(requests: readonly PageRequest[], row: number): number {
  let low = 0;
  let high = requests.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (requests[middle]!.row > row) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Dollars of each request and of all before it on the branch, where they are known; undefined where none are. */
export const spentUsd = computed<number[] | undefined>(() => {
  const requests = branchRequests.value;
  if (requests.every(({ costUsd }) => costUsd === null)) return undefined;
  let sum = 0;
  return requests.map(({ costUsd }) => {
    sum += costUsd ?? 0;
    return sum;
  });
});

/** Requests side by side whose models have the same window. */
export interface WindowRun extends Pick<PageModel, "windowTokens" | "thresholdTokens"> {
  from: number;
  /** The last one. */
  to: number;
}

export const windowRuns = computed<WindowRun[]>(() => {
  const models = page.value?.models ?? [];
  const runs: WindowRun[] = [];
  for (const [at, { model }] of branchRequests.value.entries()) {
    const { windowTokens, thresholdTokens } = models[model] ?? {};
    const latest = runs.at(-1);
    if (latest?.windowTokens === windowTokens && latest?.thresholdTokens === thresholdTokens && latest)
      latest.to = at;
    else
      runs.push({
        from: at,
        to: at,
        ...(windowTokens !== undefined && { windowTokens }),
        ...(thresholdTokens !== undefined && { thresholdTokens }),
      });
  }
  return runs;
});

/** The highest prompt of the branch. */
export const highestTokens = computed(() =>
  branchRequests.value.reduce((most, request) => Math.max(most, promptOf(request)), 0),
);
