import type { SummariserSizes } from "./budget.ts";
import { commitCompaction, masksSuffice } from "./commit.ts";
import { isCustomSummaryError } from "./custom-summary.ts";
import type { CompactionLifecycle } from "./events.ts";
import { expectedState, plannedRequests } from "./expected-summary.ts";
import { CompactionCancelled, climb, isReached } from "./ladder.ts";
import { maskEdits, planMasks, planSpan } from "./plan.ts";
import { prepareRun, type Run, type RunCompactionOptions } from "./prepare-run.ts";
import { type CompactionResult, failedResult, outcomeOf, resultOf, unpreparedResult } from "./result.ts";
import type { LadderState } from "./rung.ts";
import { ladderRungs } from "./rungs.ts";
import type { Summariser } from "./summariser.ts";
import { viewTokens, withEdits } from "./view.ts";

/**
 * The one compaction flow: start event, mask, plan, ask the extensions, summarise, write, rebuild, events.
 * Never throws: whatever happens is a status. A cancelled or failed run leaves the session's file as it was;
 * a successful one writes edits and compaction entry in a single append.
 */
export async function runCompaction(options: RunCompactionOptions): Promise<CompactionResult> {
  const { lifecycle, reason = "manual" } = options;
  await lifecycle?.notify("auto_compaction_start", { type: "auto_compaction_start", reason });
  const result = await attempt(options);
  try {
    options.onCommitted?.();
  } finally {
    await announce(result, lifecycle);
  }
  return result;
}

async function attempt(options: RunCompactionOptions): Promise<CompactionResult> {
  let run: Run;
  try {
    run = prepareRun(options);
  } catch (error) {
    return unpreparedResult(options.reason ?? "manual", error);
  }
  return carryOut(run);
}

async function carryOut(run: Run): Promise<CompactionResult> {
  try {
    const state = await climb({ ...run, rungs: ladderRungs });
    if (run.context.signal.aborted) throw new CompactionCancelled("It was aborted.");
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

async function announce(result: CompactionResult, lifecycle: CompactionLifecycle | undefined): Promise<void> {
  const { reason, entry, edits, error } = result;
  const outcome = outcomeOf(result);
  const willRetry = reason === "overflow" && (result.status === "compacted" || result.status === "masked");
  const masks = edits.filter((edit) => result.maskedEntryIds.includes(edit.targetId));
  if (masks.length > 0) {
    const freedTokens = result.tokensBefore - result.tokensAfter;
    await lifecycle?.notify("session_mask", { type: "session_mask", entries: masks, freedTokens, reason });
  }
  if (entry !== undefined) {
    const fromExtension = entry.fromHook === true;
    const event = {
      type: "session_compact" as const,
      compactionEntry: entry,
      fromExtension,
      reason,
      willRetry,
    };
    await lifecycle?.notify("session_compact", event);
  }
  if (result.status === "failed" || result.status === "cancelled") await announceFailure(result, lifecycle);
  await lifecycle?.notify("auto_compaction_end", {
    type: "auto_compaction_end",
    reason,
    outcome,
    ...(entry === undefined ? {} : { result: entry }),
    aborted: result.status === "cancelled",
    willRetry,
    ...(error === undefined ? {} : { errorMessage: error.message }),
  });
}

/** A cancelled compaction is told of too: whoever waits for its summary need not wait any longer. */
async function announceFailure(
  result: CompactionResult,
  lifecycle: CompactionLifecycle | undefined,
): Promise<void> {
  const { reason, error, status } = result;
  await lifecycle?.notify("session_compact_failed", {
    type: "session_compact_failed",
    reason,
    outcome: outcomeOf(result),
    ...(error === undefined ? {} : { error, errorMessage: error.message }),
    aborted: status === "cancelled",
    willRetry: reason === "overflow",
    fromExtension: isCustomSummaryError(error),
  });
}

export interface PlanCompactionOptions
  extends Pick<
    RunCompactionOptions,
    "session" | "reason" | "settings" | "model" | "estimator" | "fixedTexts" | "pinned"
  > {
  /** Plan for the path to this entry. Default: the session's leaf. */
  leafId?: string;
  /** Who would be asked for the summary: then the requests are foretold. */
  summariser?: SummariserSizes & Pick<Summariser, "name">;
  /** As for `runCompaction`. */
  focus?: string;
}

/**
 * What `runCompaction` would do, without asking anybody and without writing: the masks, the cut, the spans.
 * `tokensAfter` is with a summary of the size that is usual: how long it will be is not known yet.
 */
export function planCompaction(options: PlanCompactionOptions): CompactionResult {
  const { summariser, ...asked } = options;
  const run = prepareRun(asked);
  const masks = maskEdits(planMasks(run.start.view, options.settings.mask, run.context.commandTokens));
  const view = withEdits(run.start.view, masks);
  const masked: LadderState = {
    ...run.start,
    view,
    tokens: viewTokens(view.items),
    rung: masks.length > 0 ? "mask" : undefined,
  };
  if (isReached(masked, run.context)) return resultOf(run, masked, "planned");
  const plan = planSpan({ ...run.span, view });
  if (masksSuffice(run, { ...masked, plan })) return resultOf(run, { ...masked, plan }, "planned");
  if (plan.status !== "planned") return resultOf(run, { ...run.start, plan }, plan.status);
  const state = { ...masked, plan };
  const requests = summariser === undefined ? {} : plannedRequests(run, state, summariser);
  return { ...resultOf(run, expectedState(run, state, summariser), "planned"), ...requests };
}
