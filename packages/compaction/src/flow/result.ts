import { type BonsaiError, chars4Estimator } from "@bonsai-agent/messages";
import type { CompactionEntry, ContextEditEntry } from "@bonsai-agent/session";
import { carriedCounts, planFiles } from "../carry/carry-over.ts";
import type { LossReport } from "../details.ts";
import { type CarriedCounts, type CompactionReason, isModelRung, type RungName } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import { isCustomSummaryError } from "../ladder/extension-rung.ts";
import { CompactionCancelled } from "../ladder/ladder.ts";
import { type LadderState, type Run, RunCost, type RungFailure } from "../ladder/run.ts";
import { type CompactionPlan, splitAt } from "../plan/plan.ts";
import { type CompactionSizes, compactionSizes, contextSizeOf, totalAfter } from "../plan/sizes.ts";
import { editedIds, type ViewItem, withoutSummary } from "../plan/view.ts";
import type { SummaryKind } from "../summariser.ts";
import type { CompactionOutcome, CompactionStatus } from "./outcome.ts";
import { causesOf, DIGEST_HINT, detailOf, errorOf, isAllRecent } from "./result-text.ts";

/** A request to a summariser that has not been sent. */
export interface PlannedRequest {
  kind: SummaryKind;
  /** Estimated. */
  inputTokens: number;
  /** The longest answer that is accepted. */
  maxOutputTokens: number;
}

/** The effect of a compaction, or of a planned one. Ids are of entries of the context, oldest first. */
export interface CompactionResult
  extends Omit<CompactionOutcome, "status" | "digestIsUntried" | "isAtMinimum"> {
  /** `masked`: masks alone were enough, without a summary. */
  status: CompactionStatus;
  /** The last rung that shrank the context; null if none was needed or none did. */
  rung: RungName | null;
  /** The parts of both sizes. */
  sizes: CompactionSizes;
  /** Null if no message is kept word for word. */
  firstKeptEntryId: string | null;
  splitTurn: boolean;
  /** Summarised as history. No list contains the summary of an earlier compaction, which this one updates. */
  summarizedEntryIds: string[];
  /** The early part of a split turn, which has its own summary. */
  turnPrefixEntryIds: string[];
  keptEntryIds: string[];
  /** Tool results whose content is masked in the kept part. */
  maskedEntryIds: string[];
  readFiles: string[];
  modifiedFiles: string[];
  summary?: string;
  /** The rung that made the summary. */
  summarisedBy?: RungName;
  /** Id of the compaction entry. */
  entryId?: string;
  entry?: CompactionEntry;
  /** The written edits. */
  edits: readonly ContextEditEntry[];
  /**
   * Facts that the summary left out, and those that were put back. In a plan: those that an empty summary would leave
   * out. Absent without a check.
   */
  loss?: LossReport;
  /** The data that the summary carries. Absent for an extension's own summary. */
  carried?: CarriedCounts;
  /** Requests to the summariser. */
  requests: number;
  /** In a plan for a given summariser: the requests to it. Empty if `failures` has the reason. */
  plannedRequests?: readonly PlannedRequest[];
  /** Null if the cost of a request is unknown. */
  costUsd: number | null;
  /** Rungs that failed. */
  failures: readonly RungFailure[];
  /** With the status `failed`. */
  error?: BonsaiError;
}

/** Picks the outcome from a result. */
export function outcomeOf(result: CompactionResult): CompactionOutcome {
  const { status, reason, detail, tokensBefore, estimatedTokensBefore, tokensAfter, failures } = result;
  const { steps, decidedBy, isAllRecent, isDeclined } = result;
  const isDone = status === "compacted" || status === "masked";
  const isFailed = status === "failed";
  const rungs = failures.map(({ rung }) => rung);
  return {
    status: isDone || isFailed || status === "cancelled" ? status : "skipped",
    reason,
    detail,
    tokensBefore,
    estimatedTokensBefore,
    tokensAfter,
    ...(isDone && steps && { steps }),
    ...(decidedBy && { decidedBy }),
    ...(isAllRecent && { isAllRecent }),
    ...(isDeclined && { isDeclined }),
    ...(isFailed && rungs.some(isModelRung) && !rungs.includes("digest") && { digestIsUntried: true }),
    ...(isFailed && rungs.length === 0 && { isAtMinimum: true }),
  };
}

const CHANGED: readonly CompactionStatus[] = ["planned", "compacted", "masked"];

/** The result of a run in this state. With a status that changes nothing, it describes the context at the start. */
export function resultOf(run: Run, reached: LadderState, status: CompactionStatus): CompactionResult {
  const { reason, size, start, cost } = run;
  const isChanged = CHANGED.includes(status);
  const state = isChanged ? reached : { ...start, plan: reached.plan, failures: reached.failures };
  const { view, tokens, summary } = state;
  const spans = spansOf(state, status);
  const { summarizedEntryIds, turnPrefixEntryIds } = spans;
  const steps = {
    masked: editedIds(view, "mask").length,
    summarised: summarizedEntryIds.length + turnPrefixEntryIds.length,
    withoutMedia: editedIds(view, "media").length,
    shortened: editedIds(view, "truncate").length,
  };
  const isOwn = summary?.draft.own !== undefined;
  const { rung, extension } = summary?.draft ?? {};
  return {
    status,
    reason,
    rung: state.rung ?? null,
    tokensBefore: size.totalTokens,
    estimatedTokensBefore: size.estimatedTokens,
    tokensAfter: totalAfter(size, tokens),
    sizes: compactionSizes({ size, before: start.view.items, after: view, turnPrefixEntryIds }),
    ...spans,
    maskedEntryIds: editedIds(view, "mask"),
    ...(isChanged && !isOwn ? files(run, state) : { readFiles: [], modifiedFiles: [] }),
    ...(summary && { summary: summary.text, summarisedBy: rung! }),
    ...(summary?.loss && { loss: summary.loss }),
    ...(summary && !isOwn && { carried: carriedCounts(summary.carried) }),
    edits: [],
    ...(isChanged && { steps }),
    requests: cost.requests,
    costUsd: cost.usd(run.summariser),
    ...(status === "nothing-to-compact" && isAllRecent(run, state) && { isAllRecent: true }),
    detail: detailOf(run, state, { status, steps }),
    ...(extension !== undefined && { decidedBy: extension }),
    failures: state.failures,
  };
}

/** Only a plan divides the context, and only if it was carried out or is shown as a plan. Else everything is kept. */
function spansOf({ plan, view }: LadderState, status: CompactionStatus) {
  const isDivided = plan !== undefined && !["failed", "cancelled", "masked"].includes(status);
  const parts: Omit<CompactionPlan, "status" | "previous"> = isDivided
    ? plan
    : splitAt(withoutSummary(view.items), 0);
  return {
    firstKeptEntryId: parts.firstKeptEntryId,
    splitTurn: parts.splitTurn,
    summarizedEntryIds: parts.history.map(idOf),
    turnPrefixEntryIds: parts.turnPrefix.map(idOf),
    keptEntryIds: parts.kept.map(idOf),
  };
}

function idOf(item: ViewItem): string {
  return item.entryId;
}

function files(run: Run, { plan, summary }: LadderState): { readFiles: string[]; modifiedFiles: string[] } {
  if (plan?.status !== "planned") return { readFiles: [], modifiedFiles: [] };
  const { readFiles, modifiedFiles } = summary?.carried ?? run.recordSource.secrets.value(planFiles(plan));
  return { readFiles: [...readFiles], modifiedFiles: [...modifiedFiles] };
}

/**
 * The result of a run that wrote nothing: it failed, or was cancelled.
 * @param cause the thrown error. Default: the ladder's failures are the causes
 */
export function failedResult(run: Run, state: LadderState, cause?: unknown): CompactionResult {
  if (cause instanceof CompactionCancelled) {
    const { by: decidedBy, isDeclined, message } = cause;
    return {
      ...resultOf(run, state, "cancelled"),
      detail: `Compaction cancelled. ${message}`.trim(),
      ...(decidedBy !== undefined && { decidedBy }),
      ...(isDeclined && { isDeclined }),
    };
  }
  const hints = state.failures.some(({ rung }) => rung === "digest") ? [] : [DIGEST_HINT];
  const error = errorOf(run.reason, cause, { causes: causesOf(run, state, cause), hints });
  return { ...resultOf(run, state, "failed"), detail: error.message, error };
}

/** The result of a run that could not begin, because the session or its settings could not be read. */
export function unpreparedResult(reason: CompactionReason, cause: unknown): CompactionResult {
  const reading = { tokens: 0, trailingTokens: 0, source: "estimate" as const };
  const size = contextSizeOf({ reading, estimatedTokens: 0 });
  const view = { items: [], edits: [], estimator: chars4Estimator };
  const start = { view, plan: undefined, summary: undefined, tokens: 0, rung: undefined, failures: [] };
  // An empty context needs no more of a run.
  const nothing = { reason, size, start, cost: new RunCost() } as unknown as Run;
  const error = errorOf(reason, cause);
  return { ...resultOf(nothing, start, "failed"), detail: error.message, error };
}

/** Sends the end events in this order: masks, summary, failure, end. */
export async function notifyEnd(
  result: CompactionResult,
  lifecycle: CompactionLifecycle | undefined,
): Promise<void> {
  if (lifecycle === undefined) return;
  const { status, reason, entry, edits, error } = result;
  const outcome = outcomeOf(result);
  const aborted = status === "cancelled";
  const willRetry = reason === "overflow" && (status === "compacted" || status === "masked");
  const errorMessage = error && { errorMessage: error.message };
  const masks = edits.filter((edit) => result.maskedEntryIds.includes(edit.targetId));
  if (masks.length > 0) {
    const freedTokens = result.sizes.maskedTokens;
    await lifecycle.notify("session_mask", { type: "session_mask", entries: masks, freedTokens, reason });
  }
  if (entry !== undefined)
    await lifecycle.notify("session_compact", {
      type: "session_compact",
      compactionEntry: entry,
      fromExtension: entry.fromHook === true,
      reason,
      willRetry,
    });
  // Sent after a cancel too, for handlers that wait for the summary.
  if (status === "failed" || aborted)
    await lifecycle.notify("session_compact_failed", {
      type: "session_compact_failed",
      reason,
      outcome,
      ...(error && { error }),
      ...errorMessage,
      aborted,
      willRetry: reason === "overflow",
      fromExtension: isCustomSummaryError(error),
    });
  await lifecycle.notify("auto_compaction_end", {
    type: "auto_compaction_end",
    reason,
    outcome,
    ...(entry && { result: entry }),
    aborted,
    willRetry,
    ...errorMessage,
  });
}
