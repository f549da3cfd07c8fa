import { type Calibration, redactSecrets } from "@bonsai-agent/messages";
import type { CompactionEntry, ContextEditEntry, Entry, EntryDraftWithId } from "@bonsai-agent/session";
import { carriedCounts, summaryDetails } from "../carry/carry-over.ts";
import { type CompactionManifest, type EntryRange, manifestOf } from "../carry/details.ts";
import { pinnedDrafts } from "../carry/pins.ts";
import { recordDrafts } from "../carry/span-record.ts";
import type { CompactionLifecycle } from "../events.ts";
import { isCustomSummaryError } from "../ladder/custom-summary.ts";
import {
  CompactionCancelled,
  climb,
  costUsdOf,
  isWorthWriting,
  type LadderState,
  type PlannedSummary,
  type Run,
  type RungFailure,
  usageOf,
} from "../ladder/ladder.ts";
import { ladderRungs } from "../ladder/rungs.ts";
import { calibrationDrafts } from "../plan/tokens.ts";
import { type ContextView, editedIds, totalAfter, type ViewItem } from "../plan/view.ts";
import { isReviewed } from "../settings.ts";
import { SummaryFailure } from "../summariser.ts";
import type { ReviewCompaction } from "./draft.ts";
import { type CompactionRequest, prepareRun, type RunCompactionOptions } from "./prepare-run.ts";
import { type CompactionResult, failedResult, outcomeOf, resultOf, unpreparedResult } from "./result.ts";
import { type Reached, reviewedClimb } from "./review.ts";

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
  await tellBeginning(request);
  return ended(written(await drafted(request)), request);
}

/**
 * The rest of the flow, for what was drafted before: it is told of as any other.
 * @param current what is to be written, asked right before; undefined where it holds no longer
 */
export async function carryOutDrafted(
  { run }: Reached,
  current: () => Reached | undefined,
  request: CompactionRequest,
): Promise<CompactionResult> {
  await tellBeginning(request);
  const draft =
    current() ??
    unwritten(run, new CompactionCancelled("The session moved to another branch in the meantime."));
  return ended(written(draft), request);
}

/** Once for each compaction, whoever waits for it. */
export async function tellBeginning({
  lifecycle,
  reason = "manual",
  isTold,
}: CompactionRequest): Promise<void> {
  if (!isTold) await lifecycle?.notify("auto_compaction_start", { type: "auto_compaction_start", reason });
}

async function ended(result: CompactionResult, request: CompactionRequest): Promise<CompactionResult> {
  try {
    request.onCommitted?.();
  } finally {
    await notifyResult(result, request.lifecycle);
  }
  return result;
}

/** What would be written, or a result that says why nothing is. Writes nothing, and never throws. */
export async function drafted(request: CompactionRequest): Promise<Reached | CompactionResult> {
  let run: Run;
  try {
    run = prepareRun(request);
  } catch (error) {
    return unpreparedResult(request.reason ?? "manual", error);
  }
  try {
    const reached = await reachedState(run, request.review);
    if (run.signal.aborted) throw new CompactionCancelled("");
    return reached;
  } catch (error) {
    return unwritten(run, error);
  }
}

export function isDraft(drafted: Reached | CompactionResult): drafted is Reached {
  return "run" in drafted;
}

function written(draft: Reached | CompactionResult): CompactionResult {
  if (!isDraft(draft)) return draft;
  try {
    return commitCompaction(draft.run, draft.state);
  } catch (error) {
    return unwritten(draft.run, error);
  }
}

function unwritten(run: Run, error: unknown): CompactionResult {
  if (!(error instanceof CompactionCancelled)) return failedResult(run, run.start, error);
  return {
    ...resultOf(run, run.start, "cancelled"),
    detail: `Compaction cancelled. ${error.message}`.trim(),
    ...(error.by !== undefined && { decidedBy: error.by }),
    ...(error.isDeclined && { isDeclined: true }),
  };
}

/** As far as the ladder leads; where the settings want it and somebody can be asked, with what the user decided on the way. */
async function reachedState(run: Run, review: ReviewCompaction | undefined): Promise<Reached> {
  if (review !== undefined && isReviewed(run.settings, run.reason)) return reviewedClimb(run, review);
  return { run, state: await climb(run, ladderRungs) };
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
      freedTokens: result.sizes.maskedTokens,
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

/** Writes what the ladder reached, in one append; where there is nothing to write, the result has the reason. */
function commitCompaction(run: Run, state: LadderState): CompactionResult {
  if (state.summary !== undefined) return commitSummary(run, state, state.summary);
  if (isWorthWriting(run, state)) return commitEdits(run, state);
  const status = state.plan?.status ?? "nothing-to-compact";
  if (run.reason === "manual" && isTooShort(state)) return resultOf(run, state, "nothing-to-compact");
  if (status === "planned" || run.reason === "overflow") return failedResult(run, state);
  return resultOf(run, { ...state, view: run.start.view, tokens: run.start.tokens }, status);
}

/** True where every summary would have been larger than the messages, the digest too, which takes what room there is. */
function isTooShort({ plan, failures }: LadderState): boolean {
  const isLarger = ({ rung, cause }: RungFailure) =>
    cause instanceof SummaryFailure &&
    (cause.kind === "no-shorter" || (rung === "digest" && cause.kind === "too-large"));
  return (
    plan?.status === "planned" && failures.every(isLarger) && failures.some(({ rung }) => rung === "digest")
  );
}

function commitSummary(run: Run, state: LadderState, summary: PlannedSummary): CompactionResult {
  const id = run.session.newId();
  // An extension's details cannot hold what was learned and what is pinned.
  const beside =
    summary.carried === undefined
      ? [...learnedDrafts(run, state), ...pinnedDrafts(run.pinned), ...recordDrafts(summary)]
      : [];
  const drafts = [...editDrafts(state.view), ...beside, compactionDraft(run, state, summary, id)];
  // Whatever can fail comes before the write: what is written is never reported as failed.
  const result = resultOf(run, state, "compacted");
  const entries = run.session.append(drafts);
  const entry = entries.at(-1) as CompactionEntry;
  return { ...result, entry, entryId: entry.id, edits: entries.filter(isEdit) };
}

function commitEdits(run: Run, state: LadderState): CompactionResult {
  const result = resultOf(run, state, "masked");
  const entries = run.session.append([...editDrafts(state.view), ...learnedDrafts(run, state)]);
  return { ...result, edits: entries.filter(isEdit) };
}

function learnedDrafts(run: Run, state: LadderState): EntryDraftWithId[] {
  return calibrationDrafts(calibrationAfter(run, state));
}

function isEdit(entry: Entry): entry is ContextEditEntry {
  return entry.type === "context_edit";
}

function editDrafts({ edits }: ContextView): EntryDraftWithId[] {
  return edits.map(({ entryId, content }) => ({
    type: "context_edit",
    targetId: entryId,
    replacement: { content },
  }));
}

function compactionDraft(
  run: Run,
  state: LadderState,
  summary: PlannedSummary,
  id: string,
): EntryDraftWithId {
  const usage = usageOf(run, summary);
  return {
    type: "compaction",
    id,
    summary: summary.summary,
    firstKeptEntryId: summary.firstKeptEntryId ?? id,
    tokensBefore: run.size.totalTokens,
    ...(usage === undefined ? {} : { usage }),
    ...(run.former && { replacesCompactionId: run.former.id }),
    ...detailsOf(run, state, summary),
    ...(summary.fromHook ? { fromHook: true } : {}),
  };
}

/** Ours, or an extension's own, which stay as they are. */
function detailsOf(run: Run, state: LadderState, summary: PlannedSummary): { details?: unknown } {
  if (summary.carried === undefined) return summary.details === undefined ? {} : { details: summary.details };
  return {
    details: { ...summaryDetails(summary.carried, summary.prose), manifest: runManifest(run, state) },
  };
}

/** The record of a run that a summary ended. */
function runManifest(run: Run, state: LadderState): CompactionManifest {
  const { reason, size, cost, settings, budgets } = run;
  const plan = state.plan!;
  return {
    reason,
    focus: run.focus && redactSecrets(run.focus),
    rung: state.rung!,
    tokensBefore: size.totalTokens,
    estimatedTokensBefore: size.estimatedTokens,
    tokensAfter: totalAfter(size, state.tokens),
    splitTurn: plan.splitTurn,
    summarised: range(plan.history),
    turnPrefix: range(plan.turnPrefix),
    kept: range(plan.kept),
    masked: editedIds(state.view, "mask"),
    lost: { media: editedIds(state.view, "media"), truncated: editedIds(state.view, "truncate") },
    ...(state.summary?.carried && { carried: carriedCounts(state.summary.carried) }),
    loss: state.summary?.loss,
    ...(state.summary?.isEdited && { isEdited: true }),
    ...(run.isBackground && { isBackground: true }),
    ...(run.isEconomic && { isEconomic: true }),
    previousCompactionId: plan.previous?.id,
    requests: cost.requests,
    costUsd: costUsdOf(run, state.summary) ?? undefined,
    calibration: calibrationAfter(run, state),
    isMeasured: true,
    settings: {
      preset: settings.preset,
      estimator: settings.estimator,
      keepTokens: budgets.keepTokens,
      reserveTokens: budgets.reserveTokens,
      windowTokens: budgets.windowTokens,
    },
    state: stateInForce(run),
  };
}

function range(items: readonly ViewItem[]): EntryRange {
  const [first] = items;
  const last = items.at(-1);
  if (first === undefined || last === undefined) return { count: 0 };
  return { count: items.length, first: first.entryId, last: last.entryId };
}

/**
 * What is to be known of the session's tokens once the messages are those of the state: with it, whoever reads the context
 * next, before an answer has reported its size, finds what the compaction said.
 */
function calibrationAfter(run: Run, { tokens }: LadderState): Calibration | undefined {
  const overheadTokens = totalAfter(run.size, tokens) - tokens;
  if (overheadTokens === run.overheadTokens) return run.calibration;
  const { ratio = 1, samples = 0 } = run.calibration ?? {};
  return { ratio, overheadTokens, samples: Math.max(1, samples) };
}

/** As far as the part in view has it; the rest from the manifest before. */
function stateInForce({ session, leafId, former, span: { previous } }: Run): CompactionManifest["state"] {
  let found: CompactionManifest["state"] = {};
  for (const entry of session.tail(leafId)) {
    if (found.modelId !== undefined && found.thinkingLevel !== undefined) break;
    found = { ...stateAt(entry), ...found };
  }
  return { ...manifestOf(former ?? previous)?.state, ...found };
}

function stateAt(entry: Entry): CompactionManifest["state"] {
  if (entry.type === "thinking_level_change") return { thinkingLevel: entry.thinkingLevel };
  if (entry.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
  if (entry.type !== "message" || entry.message?.role !== "assistant") return {};
  return { provider: entry.message.provider, modelId: entry.message.model };
}
