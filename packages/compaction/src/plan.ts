import type { CompactionEntry } from "@bonsai-agent/session";
import { type ContextView, type ViewItem, viewTokens } from "./context-view.ts";
import { findCut } from "./cut.ts";

/** What a compaction would do with the context, as data. Ids of entries; oldest first. */
export interface CompactionPlan {
  status: "planned" | "nothing-to-compact" | "already-compacted";
  /** The compaction whose summary this one updates. */
  previous: CompactionEntry | undefined;
  /** Summarised as history. */
  history: readonly ViewItem[];
  /** The early part of a split turn: summarised for itself. */
  turnPrefix: readonly ViewItem[];
  kept: readonly ViewItem[];
  splitTurn: boolean;
  /** `null` when nothing is kept. */
  firstKeptEntryId: string | null;
}

export interface PlanOptions {
  view: ContextView;
  /** The compaction whose summary stands first in the view. */
  previous: CompactionEntry | undefined;
  /** True when nothing that the model sees came after that compaction. */
  justCompacted: boolean;
  /** True when less is to be kept than that compaction was told to keep. */
  keepsLess: boolean;
  /** Recent tokens to keep. */
  keepTokens: number;
  /** A command of the user and its output count at most this. */
  commandTokens: number;
  /** A span that holds fewer tokens is left as it is: its summary would not be shorter. */
  leastTokens: number;
}

/**
 * Divides the context into what is summarised and what is kept.
 *
 * Invariant: history, turn prefix and kept are the projection without the previous summary, disjoint and in order.
 */
export function planSpan({
  view,
  previous,
  justCompacted,
  keepsLess,
  keepTokens,
  commandTokens,
  leastTokens,
}: PlanOptions): CompactionPlan {
  const items = view.items.filter((item) => item.message.role !== "compactionSummary");
  if (justCompacted && !keepsLess) return unplanned("already-compacted", items, previous);
  const cut = findCut({
    messages: items.map((item) => item.message),
    tokens: items.map(({ message, tokens }) =>
      message.role === "bashExecution" ? Math.min(tokens, commandTokens) : tokens,
    ),
    keepTokens,
  });
  if (cut.index === 0 || viewTokens(items.slice(0, cut.index)) < leastTokens) {
    return unplanned(justCompacted ? "already-compacted" : "nothing-to-compact", items, previous);
  }
  const historyEnd = cut.turnStart ?? cut.index;
  return {
    status: "planned",
    previous,
    history: items.slice(0, historyEnd),
    turnPrefix: items.slice(historyEnd, cut.index),
    kept: items.slice(cut.index),
    splitTurn: cut.turnStart !== undefined,
    firstKeptEntryId: items[cut.index]?.entryId ?? null,
  };
}

function unplanned(
  status: "nothing-to-compact" | "already-compacted",
  kept: readonly ViewItem[],
  previous: CompactionEntry | undefined,
): CompactionPlan {
  const firstKeptEntryId = kept[0]?.entryId ?? null;
  return { status, previous, history: [], turnPrefix: [], kept, splitTurn: false, firstKeptEntryId };
}
