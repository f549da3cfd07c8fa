import { type ContextTokens, estimateContextTokens, type TokenEstimator } from "@bonsai-agent/messages";
import { type Entry, type ProjectionItem, type Session, UNDO_CUSTOM_TYPE } from "@bonsai-agent/session";
import { tailEntries } from "./tail-entries.ts";

export interface ReadContextOptions {
  session: Session;
  estimator: TokenEstimator;
  /** Default: the session's leaf. */
  leafId?: string | null;
  /** The projection's items, where the caller has them. */
  items?: readonly ProjectionItem[];
  /** Tokens of system prompt and tools; they count where no usage can be trusted. Default 0. */
  overheadTokens?: number;
}

/**
 * Reads how many tokens the context holds. An answer's usage is not trusted when it is older than the latest
 * compaction, its undoing, or an edit.
 */
export function readContext(options: ReadContextOptions): ContextTokens {
  const { session, estimator, leafId = session.leafId, overheadTokens = 0 } = options;
  const items = options.items ?? session.projection(leafId).items;
  const messages = items.map((item) => item.message);
  const staleBefore = staleCount(session, leafId, items);
  return estimateContextTokens({ messages, estimator, staleBefore, overheadTokens });
}

/** How many of the items, from the first on, are older than whatever last changed the context. */
export function staleCount(
  session: Session,
  leafId: string | null,
  items: readonly ProjectionItem[],
): number {
  const fresh = freshEntryIds(session, leafId);
  return items.findLastIndex((item) => !fresh.has(item.entryId)) + 1;
}

/** The entries after whatever last changed the context other than by adding to it. */
function freshEntryIds(session: Session, leafId: string | null): Set<string> {
  const ids = new Set<string>();
  for (const entry of tailEntries(session, leafId, undefined)) {
    if (changesContext(entry)) break;
    ids.add(entry.id);
  }
  return ids;
}

function changesContext(entry: Entry): boolean {
  if (entry.type === "custom") return entry.customType === UNDO_CUSTOM_TYPE;
  return entry.type === "compaction" || entry.type === "context_edit";
}

/** True when nothing that the model sees came after the live compaction. */
export function isJustCompacted(session: Session, leafId: string | null = session.leafId): boolean {
  const { items, compaction } = session.projection(leafId);
  if (compaction === undefined) return false;
  const visible = new Set(items.map((item) => item.entryId));
  for (const { id } of tailEntries(session, leafId, compaction)) {
    if (visible.has(id)) return id === compaction.id;
  }
  return false;
}
