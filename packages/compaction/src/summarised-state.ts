import { type Entry, pinChange } from "@bonsai-agent/session";
import { PLANNED_ENTRY_ID } from "./context-size.ts";
import { type ViewItem, viewTokens } from "./context-view.ts";
import type { LadderState, PlannedSummary } from "./rung.ts";

/** The state once a summary stands for everything before its first kept entry. */
export function summarisedState(state: LadderState, summary: PlannedSummary): LadderState {
  const from = state.view.items.findIndex((item) => item.entryId === summary.firstKeptEntryId);
  const kept = from < 0 ? [] : state.view.items.slice(from);
  const keptIds = new Set(kept.map((item) => item.entryId));
  // The summary carries what is pinned.
  const beside = kept.filter((item) => pinChange(item.entry) === undefined);
  const items = [summaryItem(state, summary), ...beside];
  const edits = state.view.edits.filter((edit) => keptIds.has(edit.entryId));
  return { ...state, summary, view: { ...state.view, items, edits }, tokens: viewTokens(items) };
}

/** Stands for the compaction entry that is not written yet. */
function summaryItem({ view }: LadderState, { summary }: PlannedSummary): ViewItem {
  const message = { role: "compactionSummary" as const, summary, tokensBefore: 0, timestamp: 0 };
  const entry = {
    type: "compaction",
    id: PLANNED_ENTRY_ID,
    parentId: null,
    timestamp: "",
    summary,
    firstKeptEntryId: PLANNED_ENTRY_ID,
    tokensBefore: 0,
  } as Entry;
  const source = { entryId: PLANNED_ENTRY_ID, entry, message };
  return { ...source, tokens: view.estimator.message(message), source };
}
