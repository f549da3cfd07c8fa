import { computed } from "@preact/signals";
import type { CompactionFacts, PageModel, PageRequest } from "../../src/page-data.ts";
import { address } from "../address.ts";
import { page } from "../page-store.ts";
import { pathTo, rowOf, shownLeaf } from "../session-tree.ts";

/** Price classes of a request's tokens in drawing order, from below. */
export const priceClasses = [
  { name: "cacheRead", label: "Cache read", colour: "--cache-read" },
  { name: "cacheWrite", label: "Cache write", colour: "--cache-write" },
  { name: "input", label: "Uncached", colour: "--fresh" },
] as const;

type PriceClass = (typeof priceClasses)[number];

/** End of the branch that was shown last. */
let steppedLeaf = -1;

/** The path of the shown branch. Steps to earlier requests stay on their branch, even above the point where it begins. */
const stepsPath = computed(() => {
  const to = address.value;
  const row = to.view === "context" && to.id !== undefined ? rowOf.value.get(to.id) : undefined;
  const shown = pathTo(shownLeaf.value);
  const stepped = row === undefined ? [] : pathTo(steppedLeaf);
  if (row === undefined || !stepped.includes(row) || shown.includes(steppedLeaf)) {
    steppedLeaf = shown.at(-1) ?? -1;
    return shown;
  }
  return stepped;
});

/** Changes only with the branch. */
const stepsLeaf = computed(() => stepsPath.value.at(-1) ?? -1);

const onPath = computed(() => new Set(pathTo(stepsLeaf.value)));

/** The requests of the branch that is shown that a model has counted, ascending by row. */
export const branchRequests = computed(() =>
  (page.value?.requests ?? []).filter(
    (request) => onPath.value.has(request.row) && (promptOf(request) > 0 || request.isOverflow === true),
  ),
);

export function promptOf({ input, cacheRead, cacheWrite }: PageRequest): number {
  return input + cacheRead + cacheWrite;
}

/** An event between two requests, or at one. */
export interface ContextMark {
  kind: "compaction" | "undone" | "mask" | "overflow";
  row: number;
  /** Position of the first request after it, or of the refused request; the number of requests if there is none. */
  at: number;
}

/** Marks of the shown branch, by kind. */
export const contextMarks = computed<ContextMark[]>(() => {
  const requests = branchRequests.value;
  const on = onPath.value;
  const { compactions = [], masks = [] } = page.value ?? {};
  return [
    ...compactions
      .filter(({ row }) => on.has(row))
      .map((facts) => ({
        kind: isUndoneOn(facts, on) ? ("undone" as const) : ("compaction" as const),
        row: facts.row,
        at: firstAfter(requests, facts.row),
      })),
    ...masks
      .filter(({ row }) => on.has(row))
      .map(({ row }) => ({ kind: "mask" as const, row, at: firstAfter(requests, row) })),
    ...requests.flatMap(({ isOverflow, row }, at) =>
      isOverflow ? [{ kind: "overflow" as const, row, at }] : [],
    ),
  ];
});

/** How many marks there are of each kind. */
export const markCounts = computed(() => {
  const counts: Record<ContextMark["kind"], number> = { compaction: 0, undone: 0, mask: 0, overflow: 0 };
  for (const { kind } of contextMarks.value) counts[kind] += 1;
  return counts;
});

/** Marks by the position of their request. */
export const marksAt = computed(() => {
  const byRequest = new Map<number, ContextMark[]>();
  for (const mark of contextMarks.value) {
    const known = byRequest.get(mark.at);
    if (known === undefined) byRequest.set(mark.at, [mark]);
    else known.push(mark);
  }
  return byRequest;
});

/** Whether the branch that is shown has a row. */
export function isOnBranch(row: number): boolean {
  return onPath.value.has(row);
}

/** Whether the shown branch has undone a compaction. For one on another branch, its latest undo or redo counts. */
export function isUndoneHere(facts: CompactionFacts): boolean {
  return onPath.value.has(facts.row) ? isUndoneOn(facts, onPath.value) : facts.isUndone;
}

function isUndoneOn({ undoneAt, redoneAt }: CompactionFacts, on: ReadonlySet<number>): boolean {
  const latest = (rows: readonly number[]) => rows.findLast((row) => on.has(row)) ?? -1;
  return latest(undoneAt) > latest(redoneAt);
}

/** Position of the first request after a row; the number of requests if there is none. */
function firstAfter(requests: readonly PageRequest[], row: number): number {
  const at = requests.findIndex((request) => request.row > row);
  return at < 0 ? requests.length : at;
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

/** Tokens and cost of all requests of the branch, by price class. */
export interface ClassTotal {
  name: PriceClass["name"] | "output";
  label: string;
  tokens: number;
  /** Sum over the requests with a known cost. */
  costUsd: number;
}

export const classTotals = computed<ClassTotal[]>(() =>
  [...priceClasses, { name: "output" as const, label: "Output" }].map(({ name, label }) => {
    const total: ClassTotal = { name, label, tokens: 0, costUsd: 0 };
    for (const request of branchRequests.value) {
      total.tokens += request[name];
      total.costUsd += request.costs?.[name] ?? 0;
    }
    return total;
  }),
);

/** Requests whose cost is not known. */
export const unpriced = computed(() => branchRequests.value.filter(({ costUsd }) => costUsd === null).length);
