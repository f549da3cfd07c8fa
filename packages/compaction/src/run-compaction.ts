import { commitCompaction } from "./commit.ts";
import { CompactionCancelled } from "./compaction-cancelled.ts";
import type { RunCompactionOptions } from "./compaction-options.ts";
import { type CompactionResult, outcomeOf } from "./compaction-result.ts";
import { prepareRun, type Run } from "./compaction-run.ts";
import { isCustomSummaryError } from "./custom-summary.ts";
import { resultOf } from "./describe-run.ts";
import type { CompactionLifecycle } from "./events.ts";
import { climb } from "./ladder.ts";
import { failedResult, unpreparedResult } from "./run-failure.ts";
import { ladderRungs } from "./rungs.ts";

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
