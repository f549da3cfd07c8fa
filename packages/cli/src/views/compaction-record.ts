import { manifestOf, summaryLoss } from "@bonsai-agent/compaction";
import type { TokenEstimator } from "@bonsai-agent/messages";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import { moment } from "./numbers.ts";
import { oneLine } from "./terminal-text.ts";

/** The latest compaction of a path. Null stands for a fact that was not recorded. */
export type CompactionRecord = NonNullable<ReturnType<typeof compactionRecord>>;

/** The record of the latest valid compaction; null without one. */
export function compactionRecord(
  session: Session,
  { estimator, overheadTokens }: { estimator: TokenEstimator; overheadTokens: number },
) {
  const [live, ...earlier] = liveCompactions(session);
  if (live === undefined) return null;
  const { estimatedTokensBefore, tokensAfter, summarised, turnPrefix } = manifestOf(live) ?? {};
  const { carried = null, loss = null, provider } = summaryLoss(live, session.entry(live.parentId ?? ""));
  return {
    summary: live.summary,
    /** Number of messages that the summary replaces, with those of earlier compactions. */
    compactedMessageCount: compactedMessages(session, live),
    /** Number of summarised messages of the context. */
    summarisedCount: recordedCount(summarised, turnPrefix),
    tokensBefore: live.tokensBefore,
    estimatedTokensBefore: typeof estimatedTokensBefore === "number" ? estimatedTokensBefore : null,
    tokensAfter: typeof tokensAfter === "number" ? tokensAfter : estimateAfter(),
    compactionCount: earlier.length + 1,
    previousSummary: earlier[0]?.summary ?? null,
    lastCompactedAt: live.timestamp,
    carried,
    loss,
    // The provider's own summary, which its model sees instead of the prose.
    ...(provider && { provider: { isSealed: provider.isSealed === true } }),
  };

  function estimateAfter(): number {
    const { items } = session.projection(live!.id);
    return items.reduce((sum, item) => sum + estimator.message(item.message), overheadTokens);
  }
}

/** A damaged record can contain anything. */
function recordedCount(...ranges: ({ count: number } | undefined)[]): number | null {
  const sum = ranges.reduce((all, range) => all + Number(range?.count), 0);
  return Number.isSafeInteger(sum) ? sum : null;
}

/** The compactions of the path that are neither undone nor replaced, newest first. Reads only compactions and custom entries. */
export function liveCompactions(session: Session): CompactionEntry[] {
  const live: CompactionEntry[] = [];
  let undone = new UndoneCompactions();
  const replaced = new Set<string>();
  const index = session.index();
  const leaf = session.leafId === null ? -1 : index.find(session.leafId);
  for (let at = leaf; at >= 0; at = index.parent(at)) {
    const type = index.type(at);
    const entry = type === "compaction" || type === "custom" ? session.entryAt(at) : undefined;
    if (entry !== undefined) undone.addOlder(entry);
    if (entry?.type !== "compaction" || undone.has(entry.id)) continue;
    if (entry.replacesCompactionId !== undefined) replaced.add(entry.replacesCompactionId);
    if (replaced.has(entry.id)) continue;
    live.push(entry);
    // An undo after this compaction does not undo earlier ones.
    undone = new UndoneCompactions();
  }
  return live;
}

function compactedMessages(session: Session, live: CompactionEntry): number {
  const index = session.index();
  const upTo = index.ancestry(index.find(live.id));
  const firstKept = upTo.findIndex((number) => index.id(number) === live.firstKeptEntryId);
  const compacted = firstKept < 0 ? upTo : upTo.slice(0, firstKept);
  return compacted.filter((number) => messageTypes.has(index.type(number))).length;
}

const messageTypes: ReadonlySet<string> = new Set(["message", "custom_message"]);

/** Like `the compaction of 14:02 (focus: the tests)`. */
export function compactionName(session: Session, id: string, nowMs: number): string {
  const entry = session.entry(id);
  const timeMs = Date.parse(entry?.timestamp ?? "");
  const time = Number.isNaN(timeMs) ? "" : ` of ${moment(timeMs, nowMs)}`;
  const { focus = "" } = (entry?.type === "compaction" && manifestOf(entry)) || {};
  return `the compaction${time}${focus === "" ? "" : ` (focus: ${oneLine(focus, 60)})`}`;
}
