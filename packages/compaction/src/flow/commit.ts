import { type Calibration, redactSecrets } from "@bonsai-agent/messages";
import { type ContextEditEntry, customTypes, type Entry, type EntryDraftWithId } from "@bonsai-agent/session";
import { summaryDetails } from "../carry/carry-over.ts";
import { type CompactionManifest, manifestOf, type StoredBeside } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import { isCustomSummaryError } from "../ladder/extension-rung.ts";
import { isWorthWriting } from "../ladder/ladder.ts";
import type { ClimbResult, LadderState, LaidSummary, Run, RungFailure } from "../ladder/run.ts";
import { editedIds, totalAfter } from "../plan/view.ts";
import { SummaryFailure } from "../summariser.ts";
import { type CompactionResult, failedResult, outcomeOf, resultOf } from "./result.ts";

/** Writes the reached state in one append. Without anything to write, the result has the reason. */
export function commit({ run, state }: ClimbResult): CompactionResult {
  if (isWorthWriting(run, state)) return write(run, state);
  const status = state.plan?.status ?? "nothing-to-compact";
  if (run.reason === "manual" && isTooShort(state)) return resultOf(run, state, "nothing-to-compact");
  if (status === "planned" || run.reason === "overflow") return failedResult(run, state);
  return resultOf(run, state, status);
}

/** True if every summary, the digest included, would be larger than the messages. */
function isTooShort({ plan, failures }: LadderState): boolean {
  const isLarger = ({ rung, cause }: RungFailure) =>
    cause instanceof SummaryFailure &&
    (cause.kind === "no-shorter" || (rung === "digest" && cause.kind === "too-large"));
  const isDigestTried = failures.some(({ rung }) => rung === "digest");
  return plan?.status === "planned" && isDigestTried && failures.every(isLarger);
}

function write(run: Run, state: LadderState): CompactionResult {
  const { summary, view } = state;
  // Everything that can fail comes before the append: a written compaction is never reported as failed.
  const calibration = calibrationAfter(run, state);
  const beside = besideData(run, summary, calibration);
  const inForce = settingsInForce(run, state);
  const result = resultOf(run, state, summary === undefined ? "masked" : "compacted");
  const drafts: EntryDraftWithId[] = view.edits.map(({ entryId, content }) => ({
    type: "context_edit",
    targetId: entryId,
    replacement: { content },
  }));
  if (Object.keys(beside).length > 0)
    drafts.push({ type: "custom", customType: customTypes.beside, data: beside });
  if (summary !== undefined) {
    const manifest = manifestFrom(result, { run, state, calibration, inForce });
    drafts.push(compactionDraft({ run, state }, summary, manifest));
  }
  const entries = run.session.append(drafts);
  const edits = entries.filter((entry): entry is ContextEditEntry => entry.type === "context_edit");
  const entry = entries.at(-1) as Entry;
  return entry.type === "compaction" ? { ...result, entry, entryId: entry.id, edits } : { ...result, edits };
}

/** The data that masks have no entry for, and that an extension's details have no room for. */
function besideData(
  { pinned }: Run,
  summary: LaidSummary | undefined,
  calibration: Calibration | undefined,
): StoredBeside {
  const learned = (calibration?.samples ?? 0) > 0 ? { calibration } : {};
  if (summary === undefined) return learned;
  const { draft, carried, loss } = summary;
  if (draft.own === undefined) return {};
  const { firstKeptEntryId, isEdited } = draft;
  const { record } = carried;
  return {
    ...learned,
    ...(pinned.length > 0 && { pinned }),
    record,
    firstKeptEntryId: firstKeptEntryId ?? undefined,
    loss,
    ...(isEdited && { isEdited }),
  };
}

function compactionDraft(
  { run }: ClimbResult,
  { draft, text, carried }: LaidSummary,
  manifest: CompactionManifest,
): EntryDraftWithId {
  const { prose, own, firstKeptEntryId, rung, provider } = draft;
  const { session, size, cost, former } = run;
  const id = session.newId();
  const details =
    own === undefined
      ? { ...summaryDetails(carried, prose), manifest, ...(provider && { provider }) }
      : own.details;
  return {
    type: "compaction",
    id,
    summary: text,
    firstKeptEntryId: firstKeptEntryId ?? id,
    tokensBefore: size.totalTokens,
    ...(cost.usage && { usage: cost.usage }),
    ...(former && { replacesCompactionId: former.id }),
    ...(details !== undefined && { details }),
    ...(rung === "extension" && { fromHook: true }),
  };
}

function manifestFrom(
  result: CompactionResult,
  of: ClimbResult & { calibration: Calibration | undefined; inForce: CompactionManifest["state"] },
): CompactionManifest {
  const { run, state, calibration, inForce } = of;
  const { reason, rung, tokensBefore, estimatedTokensBefore, tokensAfter, splitTurn } = result;
  const { carried, loss, requests, costUsd, maskedEntryIds: masked } = result;
  const { preset, estimator } = run.settings;
  const { keepTokens, reserveTokens, windowTokens } = run.budgets;
  const manifest = {
    reason,
    focus: run.focus && redactSecrets(run.focus),
    rung: rung!,
    tokensBefore,
    estimatedTokensBefore,
    tokensAfter,
    splitTurn,
    summarised: range(result.summarizedEntryIds),
    turnPrefix: range(result.turnPrefixEntryIds),
    kept: range(result.keptEntryIds),
    masked,
    lost: { media: editedIds(state.view, "media"), truncated: editedIds(state.view, "truncate") },
    carried,
    loss,
    isEdited: state.summary?.draft.isEdited || undefined,
    isBackground: run.isBackground || undefined,
    isEconomic: run.isEconomic || undefined,
    previousCompactionId: state.plan?.previous?.id,
    requests,
    costUsd: costUsd ?? undefined,
    calibration,
    isMeasured: true,
    settings: { preset, estimator, keepTokens, reserveTokens, windowTokens },
    state: inForce,
  };
  return manifest satisfies Record<keyof CompactionManifest, unknown>;
}

function range(ids: readonly string[]): NonNullable<CompactionManifest["kept"]> {
  const [first] = ids;
  const last = ids.at(-1);
  return first === undefined ? { count: 0 } : { count: ids.length, first, last };
}

/**
 * The calibration for the context after the compaction. A reading before the next answer then gives the size that the
 * compaction reported.
 */
function calibrationAfter({ reading, size }: Run, { tokens }: LadderState): Calibration | undefined {
  const known = reading.calibration();
  const overheadTokens = totalAfter(size, tokens) - tokens;
  if (overheadTokens === reading.overheadTokens()) return known;
  const { ratio = 1, samples = 0 } = known ?? {};
  return { ratio, overheadTokens, samples: Math.max(1, samples) };
}

/** Model and thinking level at the cut, from the part in view, else from the manifest before. */
function settingsInForce(
  { session, leafId, former }: Run,
  { plan }: LadderState,
): CompactionManifest["state"] {
  const { model, thinkingLevel } = session.recentSettings(leafId);
  return {
    ...manifestOf(former ?? plan?.previous)?.state,
    ...model,
    ...(thinkingLevel !== undefined && { thinkingLevel }),
  };
}

/** Sends the end events in this order: masks, summary, failure, end. */
export async function notifyEnd(
  result: CompactionResult,
  lifecycle: CompactionLifecycle | undefined,
): Promise<void> {
  if (lifecycle === undefined) return;
  const { status, reason, entry, edits, error, sizes } = result;
  const aborted = status === "cancelled";
  const willRetry = reason === "overflow" && (status === "compacted" || status === "masked");
  const outcome = outcomeOf(result);
  const ending = { reason, outcome, aborted, ...(error && { errorMessage: error.message }) };
  const entries = edits.filter((edit) => result.maskedEntryIds.includes(edit.targetId));
  const freedTokens = sizes.maskedTokens;
  if (entries.length > 0)
    await lifecycle.notify("session_mask", { type: "session_mask", entries, freedTokens, reason });
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
      ...ending,
      ...(error && { error }),
      willRetry: reason === "overflow",
      fromExtension: isCustomSummaryError(error),
    });
  await lifecycle.notify("auto_compaction_end", {
    type: "auto_compaction_end",
    ...ending,
    ...(entry && { result: entry }),
    willRetry,
  });
}
