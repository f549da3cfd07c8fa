import type { SummariserSizes } from "./budget.ts";
import { commitCompaction, masksSuffice } from "./commit.ts";
import { isCustomSummaryError } from "./custom-summary.ts";
import type { CompactionLifecycle } from "./events.ts";
import { expectedState, plannedRequests } from "./expected-summary.ts";
import { CompactionCancelled, climb, type LadderState, ladderSteps, type Run } from "./ladder.ts";
import { type CompactionRequest, prepareRun, type RunCompactionOptions } from "./prepare-run.ts";
import { type CompactionResult, failedResult, outcomeOf, resultOf, unpreparedResult } from "./result.ts";
import { ladderRungs, maskedState } from "./rungs.ts";
import type { Summariser } from "./summariser.ts";

/**
 * Compacts the session's path: mask, plan, ask the extensions, summarise, write, notify. Never throws: whatever happens
 * is a status. A cancelled or failed run leaves the session's file as it was; a successful one writes edits and
 * compaction entry in a single append.
 */
export function runCompaction(options: RunCompactionOptions): Promise<CompactionResult> {
  return carryOut(options);
}

/** The one compaction flow, whoever asked for it. */
export async function carryOut(request: CompactionRequest): Promise<CompactionResult> {
  const { lifecycle, reason = "manual" } = request;
  await lifecycle?.notify("auto_compaction_start", { type: "auto_compaction_start", reason });
  const result = await attempt(request);
  try {
    request.onCommitted?.();
  } finally {
    await notifyResult(result, lifecycle);
  }
  return result;
}

async function attempt(request: CompactionRequest): Promise<CompactionResult> {
  let run: Run;
  try {
    run = prepareRun(request);
  } catch (error) {
    return unpreparedResult(request.reason ?? "manual", error);
  }
  try {
    const state = await climb(run, ladderRungs);
    if (run.signal.aborted) throw new CompactionCancelled("It was aborted.");
    return commitCompaction(run, state);
  } catch (error) {
    if (!(error instanceof CompactionCancelled)) return failedResult(run, run.start, error);
    return {
      ...resultOf(run, run.start, "cancelled"),
      detail: `Compaction cancelled. ${error.message}`,
      ...(error.by !== undefined && { decidedBy: error.by }),
    };
  }
}

/** In this order: what was masked, the summary, a failure, the end. */
async function notifyResult(
  result: CompactionResult,
  lifecycle: CompactionLifecycle | undefined,
): Promise<void> {
  const { status, reason, entry, edits, error } = result;
  const outcome = outcomeOf(result);
  const aborted = status === "cancelled";
  const willRetry = reason === "overflow" && (status === "compacted" || status === "masked");
  const masks = edits.filter((edit) => result.maskedEntryIds.includes(edit.targetId));
  if (masks.length > 0)
    await lifecycle?.notify("session_mask", {
      type: "session_mask",
      entries: masks,
      freedTokens: result.tokensBefore - result.tokensAfter,
      reason,
    });
  if (entry !== undefined)
    await lifecycle?.notify("session_compact", {
      type: "session_compact",
      compactionEntry: entry,
      fromExtension: entry.fromHook === true,
      reason,
      willRetry,
    });
  // Also where it was cancelled: whoever waits for its summary need not wait any longer.
  if (status === "failed" || aborted)
    await lifecycle?.notify("session_compact_failed", {
      type: "session_compact_failed",
      reason,
      outcome,
      ...(error === undefined ? {} : { error, errorMessage: error.message }),
      aborted,
      willRetry: reason === "overflow",
      fromExtension: isCustomSummaryError(error),
    });
  await lifecycle?.notify("auto_compaction_end", {
    type: "auto_compaction_end",
    reason,
    outcome,
    ...(entry === undefined ? {} : { result: entry }),
    aborted,
    willRetry,
    ...(error === undefined ? {} : { errorMessage: error.message }),
  });
}

export interface PlanCompactionOptions
  extends Pick<
    RunCompactionOptions,
    "session" | "reason" | "settings" | "model" | "estimator" | "focus" | "fixedTexts" | "pinned"
  > {
  /** Plan for the path to this entry. Default: the session's leaf. */
  leafId?: string;
  /** Who would be asked for the summary: then the requests are foretold. */
  summariser?: SummariserSizes & Pick<Summariser, "name">;
}

/**
 * What `runCompaction` would do, without asking anybody and without writing: the masks, the cut, the spans.
 * `tokensAfter` is with a summary of the size that is usual: how long it will be is not known yet.
 */
export function planCompaction(options: PlanCompactionOptions): CompactionResult {
  const { summariser, ...asked } = options;
  const run = prepareRun(asked);
  const state = climbToPlan(run);
  const { plan } = state;
  if (plan === undefined || masksSuffice(run, state)) return resultOf(run, state, "planned");
  if (plan.status !== "planned") return resultOf(run, { ...run.start, plan }, plan.status);
  const requests = summariser === undefined ? {} : plannedRequests(run, state, summariser);
  return { ...resultOf(run, expectedState(run, state, summariser), "planned"), ...requests };
}

/** The climb as far as it asks nobody: the masks, and the plan, which is made before every other step. */
function climbToPlan(run: Run): LadderState {
  const steps = ladderSteps(run, ladderRungs);
  let next = steps.next();
  if (!next.done && next.value.rung.name === "mask") next = steps.next(maskedState(next.value.state, run));
  return next.done ? next.value : next.value.state;
}
