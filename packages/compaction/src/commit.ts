import type { CompactionEntry, ContextEditEntry, Entry, EntryDraftWithId } from "@bonsai-agent/session";
import { calibrationDrafts } from "./calibration-record.ts";
import type { CompactionResult } from "./compaction-result.ts";
import type { Run } from "./compaction-run.ts";
import { calibrationAfter } from "./context-size.ts";
import type { ContextView } from "./context-view.ts";
import { resultOf } from "./describe-run.ts";
import { isUnsendable } from "./last-rungs.ts";
import { masksSuffice } from "./masks-suffice.ts";
import { pinnedDrafts } from "./pins.ts";
import { failedResult } from "./run-failure.ts";
import { runManifest } from "./run-manifest.ts";
import type { LadderState, PlannedSummary } from "./rung.ts";
import { summaryDetails } from "./summary-details.ts";

/** Writes what the ladder reached, in one append; or says why there is nothing to write. */
export function commitCompaction(run: Run, state: LadderState): CompactionResult {
  if (state.summary !== undefined) return commitSummary(run, state, state.summary);
  if (masksSuffice(run, state) || isBestTry(run, state)) return commitEdits(run, state);
  const status = state.plan?.status ?? "nothing-to-compact";
  if (status === "planned" || run.reason === "overflow") return failedResult(run, state);
  return resultOf(run, { ...state, view: run.start.view, tokens: run.start.tokens }, status);
}

/** Where nothing would be sent else, a try is better than an error, also where the aim was not quite reached. */
function isBestTry({ reason, start, context }: Run, { view, tokens }: LadderState): boolean {
  const isForced = reason === "overflow" || (reason === "threshold" && isUnsendable(start, context));
  return isForced && view.edits.length > 0 && tokens < start.tokens;
}

function commitSummary(run: Run, state: LadderState, summary: PlannedSummary): CompactionResult {
  const id = run.session.newId();
  // An extension's details have no room for what was learned and what is pinned.
  const beside =
    summary.carried === undefined ? [...learnedDrafts(run, state), ...pinnedDrafts(run.context.pinned)] : [];
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
  return calibrationDrafts(calibrationAfter({ ...run, estimatedTokens: state.tokens }));
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
  const usage = summary.usage ?? run.cost.usage;
  return {
    type: "compaction",
    id,
    summary: summary.summary,
    firstKeptEntryId: summary.firstKeptEntryId ?? id,
    tokensBefore: run.size.totalTokens,
    ...(usage === undefined ? {} : { usage }),
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
