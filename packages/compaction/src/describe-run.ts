import { latestRequestChars } from "./budget.ts";
import { carryOver } from "./carry-over.ts";
import type { CompactionResult, CompactionStatus } from "./compaction-result.ts";
import type { Run } from "./compaction-run.ts";
import { compactionSizes, totalAfter } from "./context-size.ts";
import type { PlannedEdit, ViewItem } from "./context-view.ts";
import { type CompactionSteps, stepsText } from "./outcome.ts";
import type { LadderState } from "./rung.ts";
import { sentence } from "./sentence.ts";

/** A run's result as far as it follows from the state that was reached. */
export function resultOf(run: Run, state: LadderState, status: CompactionStatus): CompactionResult {
  const { reason, size, start, cost } = run;
  const changed = status === "planned" || status === "compacted" || status === "masked";
  const summary = changed ? state.summary : undefined;
  const divided = spans(state, status);
  const { view, tokens } = changed ? state : start;
  const { turnPrefixEntryIds } = divided;
  return {
    status,
    reason,
    rung: changed ? (state.rung ?? null) : null,
    tokensBefore: size.totalTokens,
    tokensAfter: totalAfter(size, tokens),
    sizes: compactionSizes({ size, before: start.view.items, after: view.items, turnPrefixEntryIds }),
    ...divided,
    maskedEntryIds: changed ? editedIds(state.view.edits) : [],
    ...(changed ? files(run, state) : { readFiles: [], modifiedFiles: [] }),
    ...(summary === undefined ? {} : { summary: summary.summary }),
    edits: [],
    ...(changed && { steps: stepsOf(state) }),
    requests: cost.requests,
    costUsd: (summary?.usage ?? cost.usage)?.cost.total ?? 0,
    detail: detailOf(run, state, status),
    ...(summary?.fromHook === true && state.madeBy !== undefined && { decidedBy: state.madeBy }),
    failures: state.failures,
  };
}

const details: Record<CompactionStatus, string> = {
  planned: "Nothing was written.",
  compacted: "The context was compacted.",
  masked: "No summary was needed.",
  "nothing-to-compact": "There is nothing to compact: all of the context is recent enough to be kept.",
  "already-compacted": "The context is already compacted: nothing came after the latest compaction.",
  cancelled: "Compaction cancelled.",
  failed: "Compaction failed.",
};

function detailOf(run: Run, state: LadderState, status: CompactionStatus): string {
  if (status !== "compacted" && status !== "masked") return details[status];
  return [
    doneText(stepsOf(state), status),
    ...whyDigest(run, state, status),
    ...stillTooLarge(run, state),
  ].join(" ");
}

function doneText(steps: CompactionSteps, status: "compacted" | "masked"): string {
  const done = stepsText(steps);
  const { masked, withoutMedia, shortened } = steps;
  if (status === "compacted")
    return masked + withoutMedia + shortened === 0
      ? details.compacted
      : `The context was compacted: ${done}.`;
  return `${done.slice(0, 1).toUpperCase()}${done.slice(1)}; no summary was needed.`;
}

function stepsOf({ view, plan, summary }: LadderState): CompactionSteps {
  const count = (kind: PlannedEdit["kind"]) => view.edits.filter((edit) => edit.kind === kind).length;
  const isSummarised = summary !== undefined && plan !== undefined;
  return {
    masked: count("mask"),
    summarised: isSummarised ? plan.history.length + plan.turnPrefix.length : 0,
    withoutMedia: count("media"),
    shortened: count("truncate"),
  };
}

/** Who has a model is told why the summary is not the model's. */
function whyDigest({ context }: Run, { rung, failures }: LadderState, status: CompactionStatus): string[] {
  const tried = failures.filter((failure) => failure.rung === "summarise" || failure.rung === "chunks");
  const failed = tried.at(-1);
  if (status !== "compacted" || rung !== "digest" || context.summariser === undefined || !failed) return [];
  return [`The model's own summary failed: ${sentence(failed.message)}`];
}

/** Success is not claimed where what is left still does not fit the model. */
function stillTooLarge({ context, size }: Run, { tokens }: LadderState): string[] {
  const { windowTokens } = context.budgets;
  const tokensAfter = totalAfter(size, tokens);
  if (windowTokens === undefined || tokensAfter <= windowTokens) return [];
  const [left, window] = [tokensAfter, windowTokens].map((each) => each.toLocaleString("en"));
  return [
    `It still holds ${left} tokens, more than the model's window of ${window}: keep less, or choose a model with a larger window.`,
  ];
}

/** Only a plan that was carried out, or is shown as a plan, divides the context; else all of it is kept. */
function spans(state: LadderState, status: CompactionStatus) {
  const carriedOut = state.summary !== undefined && status === "compacted";
  const { plan } = state;
  if (plan === undefined || status === "failed" || status === "cancelled" || status === "masked")
    return allKept(state);
  const firstKeptEntryId = carriedOut ? state.summary!.firstKeptEntryId : plan.firstKeptEntryId;
  if (firstKeptEntryId !== plan.firstKeptEntryId) return cutElsewhere(state, firstKeptEntryId);
  return {
    firstKeptEntryId,
    splitTurn: plan.splitTurn,
    summarizedEntryIds: plan.history.map(idOf),
    turnPrefixEntryIds: plan.turnPrefix.map(idOf),
    keptEntryIds: plan.kept.map(idOf),
  };
}

function allKept({ view }: LadderState) {
  const keptEntryIds = view.items.filter((item) => item.message.role !== "compactionSummary").map(idOf);
  const none = { splitTurn: false, summarizedEntryIds: [], turnPrefixEntryIds: [] };
  return { firstKeptEntryId: keptEntryIds[0] ?? null, ...none, keptEntryIds };
}

/** An extension chose another cut than the plan's. */
function cutElsewhere({ plan }: LadderState, firstKeptEntryId: string | null) {
  const ids = [...plan!.history, ...plan!.turnPrefix, ...plan!.kept].map(idOf);
  const at = firstKeptEntryId === null ? ids.length : ids.indexOf(firstKeptEntryId);
  return {
    firstKeptEntryId,
    splitTurn: false,
    summarizedEntryIds: ids.slice(0, at),
    turnPrefixEntryIds: [],
    keptEntryIds: ids.slice(at),
  };
}

function files(run: Run, { plan, summary }: LadderState): { readFiles: string[]; modifiedFiles: string[] } {
  const isForeign = summary?.fromHook === true && summary.carried === undefined;
  if (plan?.status !== "planned" || isForeign) return { readFiles: [], modifiedFiles: [] };
  const carried =
    summary?.carried ??
    carryOver({ plan, pinned: [], latestRequestChars: latestRequestChars(run.context.budgets) });
  return { readFiles: [...carried.readFiles], modifiedFiles: [...carried.modifiedFiles] };
}

function editedIds(edits: readonly PlannedEdit[]): string[] {
  return edits.filter((edit) => edit.kind === "mask").map((edit) => edit.entryId);
}

function idOf(item: ViewItem): string {
  return item.entryId;
}
