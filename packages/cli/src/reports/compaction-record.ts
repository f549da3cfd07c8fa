import type { CompactionEntry, Session } from "@bonsai-agent/session";
import type { ContextSize } from "../context-size.ts";

/** The latest compaction of a path as a derived view: what the history lost to it and what stands for it. */
export interface CompactionRecord {
  summary: string;
  /** Messages of the path that the summary stands for, those of earlier compactions included. */
  compactedMessageCount: number;
  tokensBefore: number;
  /** Estimate of the context right after it, with prompt and tools as far as usage taught them. */
  tokensAfter: number;
  /** Compactions on the path that are not undone, this one included. */
  compactionCount: number;
  /** The summary that this one took over from; null for the first. */
  previousSummary: string | null;
  /** ISO 8601. */
  lastCompactedAt: string;
}

/** The record of the compaction that the model's view begins with; null without one. */
export function compactionRecord(
  session: Session,
  { estimator, overheadTokens }: Pick<ContextSize, "estimator" | "overheadTokens">,
): CompactionRecord | null {
  const live = session.projection().compaction;
  if (live === undefined) return null;
  const { items } = session.projection(live.id);
  const earlier = earlierCompactions(session, live);
  return {
    summary: live.summary,
    compactedMessageCount: compactedMessages(session, live),
    tokensBefore: live.tokensBefore,
    tokensAfter: items.reduce((sum, item) => sum + estimator.message(item.message), overheadTokens),
    compactionCount: earlier.length + 1,
    previousSummary: earlier[0]?.summary ?? null,
    lastCompactedAt: live.timestamp,
  };
}

/** Compactions before the live one that still count, newest first: each is the live one of what stands before the next. */
function earlierCompactions(session: Session, live: CompactionEntry): CompactionEntry[] {
  const earlier: CompactionEntry[] = [];
  const before = ({ parentId }: CompactionEntry) => session.projection(parentId).compaction;
  for (let found = before(live); found !== undefined; found = before(found)) earlier.push(found);
  return earlier;
}

function compactedMessages(session: Session, live: CompactionEntry): number {
  const index = session.index();
  const upTo = index.ancestry(index.find(live.id));
  const firstKept = upTo.findIndex((number) => index.id(number) === live.firstKeptEntryId);
  const compacted = firstKept < 0 ? upTo : upTo.slice(0, firstKept);
  return compacted.filter((number) => messageTypes.has(index.type(number))).length;
}

const messageTypes: ReadonlySet<string> = new Set(["message", "custom_message"]);
