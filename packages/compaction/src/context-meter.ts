import { contextTokens, type Message, type TokenEstimator, type Usage } from "@bonsai-agent/messages";
import { type Entry, type ProjectionItem, type Session, UNDO_CUSTOM_TYPE } from "@bonsai-agent/session";

/** How full the context is. */
export interface ContextReading {
  tokens: number;
  /** What a provider reported; 0 without a trusted report. */
  usageTokens: number;
  /** Estimated for what came after the report. */
  estimatedTokens: number;
  /** True where no trusted report exists: all of it is an estimate. */
  isEstimate: boolean;
}

export interface ReadContextOptions {
  session: Session;
  estimator: TokenEstimator;
  /** Default: the session's leaf. */
  leafId?: string | null;
  /** The projection's items, where the caller has them. */
  items?: readonly ProjectionItem[];
}

/**
 * Reads how many tokens the context holds: the usage of the last good answer plus estimates of what came after.
 * An answer that failed, was aborted, reports nothing, or is older than the latest compaction, its undoing or
 * an edit is not trusted.
 */
export function readContext({
  session,
  estimator,
  leafId = session.leafId,
  items,
}: ReadContextOptions): ContextReading {
  return reading(items ?? session.projection(leafId).items, freshEntryIds(session, leafId), estimator);
}

function reading(
  items: readonly ProjectionItem[],
  fresh: ReadonlySet<string>,
  estimator: TokenEstimator,
): ContextReading {
  const at = items.findLastIndex((item) => fresh.has(item.entryId) && goodUsage(item.message) !== undefined);
  const usage = at < 0 ? undefined : goodUsage(items[at]!.message);
  const usageTokens = usage === undefined ? 0 : contextTokens(usage);
  const estimatedTokens = items.slice(at + 1).reduce((sum, item) => sum + estimator.message(item.message), 0);
  return { tokens: usageTokens + estimatedTokens, usageTokens, estimatedTokens, isEstimate: at < 0 };
}

function goodUsage(message: Message): Usage | undefined {
  if (message.role !== "assistant" || message.stopReason === "aborted" || message.stopReason === "error")
    return undefined;
  return message.usage && contextTokens(message.usage) > 0 ? message.usage : undefined;
}

/** The entries after whatever last changed the context other than by adding to it. */
function freshEntryIds(session: Session, leafId: string | null): Set<string> {
  const ids = new Set<string>();
  for (let id = leafId; id !== null; ) {
    const entry = session.entry(id);
    if (entry === undefined || changesContext(entry) || ids.has(id)) break;
    ids.add(id);
    id = entry.parentId;
  }
  return ids;
}

function changesContext(entry: Entry): boolean {
  if (entry.type === "custom") return entry.customType === UNDO_CUSTOM_TYPE;
  return entry.type === "compaction" || entry.type === "context_edit";
}

/** True when nothing that the model sees came after the latest compaction. */
export function isJustCompacted(session: Session, leafId: string | null = session.leafId): boolean {
  const visible = new Set(session.projection(leafId).items.map((item) => item.entryId));
  for (let id = leafId; id !== null; ) {
    const entry = session.entry(id);
    if (entry === undefined) return false;
    if (visible.has(id)) return entry.type === "compaction";
    if (changesContext(entry) && entry.type !== "context_edit") return false;
    id = entry.parentId;
  }
  return false;
}
