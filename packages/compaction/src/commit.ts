import type { CompactionEntry, ContextEditEntry, EntryDraftWithId } from "@bonsai-agent/session";
import type { CompactionResult } from "./compaction-result.ts";
import type { Run } from "./compaction-run.ts";
import type { ContextView } from "./context-view.ts";
import { resultOf } from "./describe-run.ts";
import { isReached } from "./ladder.ts";
import { compactionManifest } from "./manifest.ts";
import { failedResult } from "./run-failure.ts";
import type { LadderState, PlannedSummary } from "./rung.ts";

/** Writes what the ladder reached, in one append; or says why there is nothing to write. */
export function commitCompaction(run: Run, state: LadderState): CompactionResult {
  if (state.summary !== undefined) return commitSummary(run, state, state.summary);
  if (run.reason !== "manual" && state.view.edits.length > 0 && isReached(state, run.context))
    return commitEdits(run, state);
  const status = state.plan?.status ?? "nothing-to-compact";
  if (status === "planned" || run.reason === "overflow") return failedResult(run, state);
  return resultOf(run, { ...state, view: run.start.view, tokens: run.start.tokens }, status);
}

function commitSummary(run: Run, state: LadderState, summary: PlannedSummary): CompactionResult {
  const id = run.session.newId();
  const drafts = [...editDrafts(state.view), compactionDraft(run, state, summary, id)];
  const entries = run.session.append(drafts);
  const entry = entries.at(-1) as CompactionEntry;
  const edits = entries.slice(0, -1) as ContextEditEntry[];
  return { ...resultOf(run, state, "compacted"), entry, entryId: entry.id, edits };
}

function commitEdits(run: Run, state: LadderState): CompactionResult {
  const edits = run.session.append(editDrafts(state.view)) as ContextEditEntry[];
  return { ...resultOf(run, state, "masked"), edits };
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
    tokensBefore: run.tokensBefore,
    ...(usage === undefined ? {} : { usage }),
    ...detailsOf(run, state, summary),
    ...(summary.fromHook ? { fromHook: true } : {}),
  };
}

/** Ours, or an extension's own, which stay as they are. */
function detailsOf(run: Run, state: LadderState, summary: PlannedSummary): { details?: unknown } {
  if (summary.carried === undefined) return summary.details === undefined ? {} : { details: summary.details };
  const { readFiles, modifiedFiles, pinned, latestRequest } = summary.carried;
  return {
    details: {
      readFiles,
      modifiedFiles,
      prose: summary.prose,
      ...(pinned.length === 0 ? {} : { pinned }),
      ...(latestRequest === undefined ? {} : { latestRequest }),
      manifest: compactionManifest({ ...run, ...run.cost, state, path: run.context.branchEntries }),
    },
  };
}
