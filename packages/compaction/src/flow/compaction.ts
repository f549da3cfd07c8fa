import { layDraft } from "../ladder/draft.ts";
import { CompactionCancelled, climb, plannedState } from "../ladder/ladder.ts";
import type { ClimbResult, LadderState, Run } from "../ladder/run.ts";
import { ladderRungs } from "../ladder/rungs.ts";
import { isReviewed } from "../settings.ts";
import { commit } from "./commit.ts";
import { type CompactionRequest, isCurrent, prepareRun, type RunCompactionOptions } from "./prepare.ts";
import { type CompactionResult, failedResult, notifyEnd, unpreparedResult } from "./result.ts";
import { reviewedClimb } from "./review.ts";

/**
 * Compacts the session's path: mask, plan, ask the extensions, summarise, write, notify. Never throws: every ending is
 * a status. A cancelled or failed run leaves the session file as it was. A successful one writes edits and compaction
 * entry in one append.
 */
export function runCompaction(options: RunCompactionOptions): Promise<CompactionResult> {
  return compact(options);
}

/** The one compaction flow, for every reason: draft, commit, notify. */
export async function compact(request: CompactionRequest): Promise<CompactionResult> {
  await notifyStart(request);
  const result = committed(await draftCompaction(request));
  try {
    request.onCommitted?.();
  } finally {
    await notifyEnd(result, request.lifecycle);
  }
  return result;
}

/** Sends the start event, once for each compaction. */
export async function notifyStart({ lifecycle, reason = "manual", startNotified }: CompactionRequest) {
  if (startNotified) return;
  await lifecycle?.notify("auto_compaction_start", { type: "auto_compaction_start", reason });
}

/** Climbs the ladder, or returns the result that says why nothing can be written. Writes nothing and never throws. */
export async function draftCompaction(request: CompactionRequest): Promise<ClimbResult | CompactionResult> {
  let run: Run;
  try {
    run = prepareRun(request);
  } catch (error) {
    return unpreparedResult(request.reason ?? "manual", error);
  }
  try {
    const reached = await climbFor(run, request);
    if (run.signal.aborted) throw new CompactionCancelled("");
    return reached;
  } catch (error) {
    return failedResult(run, run.start, error);
  }
}

export function isClimbed(drafted: ClimbResult | CompactionResult): drafted is ClimbResult {
  return "run" in drafted;
}

/** Climbs as the request says: from an earlier draft, with a review, or straight up. */
async function climbFor(run: Run, { earlier, review }: CompactionRequest): Promise<ClimbResult> {
  if (earlier !== undefined) return { run, state: await climb(run, ladderRungs, laidAgain(run, earlier)) };
  if (review !== undefined && isReviewed(run.settings, run.reason)) return reviewedClimb(run, review);
  return { run, state: await climb(run, ladderRungs) };
}

function committed(drafted: ClimbResult | CompactionResult): CompactionResult {
  if (!isClimbed(drafted)) return drafted;
  try {
    return commit(drafted);
  } catch (error) {
    return failedResult(drafted.run, drafted.run.start, error);
  }
}

/**
 * Lays an earlier draft on the context as it is now: everything that came since is kept.
 * @throws CompactionCancelled if the draft is outdated: handlers of the start event can change the session
 */
function laidAgain(run: Run, earlier: ClimbResult): LadderState {
  const { summary, carryOver, failures } = earlier.state;
  if (summary === undefined || !isCurrent(earlier, run))
    throw new CompactionCancelled("The session moved to another branch in the meantime.");
  const { draft } = summary;
  const later = run.start.view.items[earlier.run.start.view.items.length];
  const firstKeptEntryId = draft.firstKeptEntryId ?? later?.entryId ?? null;
  const planned = plannedState(
    { ...run.start, carryOver, failures },
    { ...run, span: { ...run.span, firstKeptEntryId } },
  );
  return layDraft(planned, { ...draft, firstKeptEntryId }, run);
}
