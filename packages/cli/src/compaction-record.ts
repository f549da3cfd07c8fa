import type { TokenEstimator } from "@bonsai-agent/messages";
import { type CompactionEntry, type Entry, liveCompaction, project } from "@bonsai-agent/session";

/** The latest compaction of a path as a derived view: what the history lost to it and what stands for it. */
export interface CompactionRecord {
  summary: string;
  /** Messages of the path that the summary stands for, those of earlier compactions included. */
  compactedMessageCount: number;
  tokensBefore: number;
  /** Estimate of the context right after it. */
  tokensAfter: number;
  /** Compactions on the path that are not undone, this one included. */
  compactionCount: number;
  /** The summary that this one took over from; null for the first. */
  previousSummary: string | null;
  /** ISO 8601. */
  lastCompactedAt: string;
}

/** The record of the compaction that the model's view of the path begins with; null without one. */
export function compactionRecord(path: readonly Entry[], estimator: TokenEstimator): CompactionRecord | null {
  const live = liveCompaction(path);
  if (live === undefined) return null;
  const upTo = path.slice(0, path.indexOf(live) + 1);
  const earlier = earlierCompactions(path, live);
  return {
    summary: live.summary,
    compactedMessageCount: compactedMessages(upTo, live),
    tokensBefore: live.tokensBefore,
    tokensAfter: project(upTo).items.reduce((sum, item) => sum + estimator.message(item.message), 0),
    compactionCount: earlier.length + 1,
    previousSummary: earlier.at(-1)?.summary ?? null,
    lastCompactedAt: live.timestamp,
  };
}

/** Compactions before the live one that still count, oldest first: each is the live one of what stands before the next. */
function earlierCompactions(path: readonly Entry[], live: CompactionEntry): CompactionEntry[] {
  const earlier: CompactionEntry[] = [];
  let before = path.slice(0, path.indexOf(live));
  for (let found = liveCompaction(before); found !== undefined; found = liveCompaction(before)) {
    earlier.unshift(found);
    before = before.slice(0, before.indexOf(found));
  }
  return earlier;
}

function compactedMessages(upTo: readonly Entry[], live: CompactionEntry): number {
  const firstKept = upTo.findIndex((entry) => entry.id === live.firstKeptEntryId);
  const compacted = firstKept < 0 ? upTo : upTo.slice(0, firstKept);
  return compacted.filter((entry) => entry.type === "message" || entry.type === "custom_message").length;
}
