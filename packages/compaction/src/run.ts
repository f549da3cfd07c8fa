import { commitCompaction } from "./commit.ts";
import { isCustomSummaryError } from "./custom-summary.ts";
import type { CompactionLifecycle } from "./events.ts";
import { CompactionCancelled, climb, type Run } from "./ladder.ts";
import { type CompactionRequest, prepareRun, type RunCompactionOptions } from "./prepare-run.ts";
import { type CompactionResult, failedResult, outcomeOf, resultOf, unpreparedResult } from "./result.ts";
import { ladderRungs } from "./rungs.ts";

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
