import { type ContextEditEntry, type Entry, type Session, UNDO_CUSTOM_TYPE } from "@bonsai-agent/session";

/** An entry that the chat shows. */
export interface ChatItem {
  entry: Entry;
  /** The latest edit of it: what the model sees in its place. */
  edit?: ContextEditEntry | undefined;
  /** A compaction that no longer counts. */
  isUndone?: boolean;
}

export interface ChatPath {
  /** Oldest first. */
  items: ChatItem[];
  /** True where the path goes further back. */
  hasEarlier: boolean;
}

/**
 * The latest of what stands on the path to the leaf, as it was said: also what a compaction took out of the model's view,
 * and what is masked in it. Goes back from the leaf, so that a long history costs no more than a short one.
 */
export function chatPath(session: Pick<Session, "leafId" | "entry">, maxItems = 200): ChatPath {
  const items: ChatItem[] = [];
  const edits = new Map<string, ContextEditEntry>();
  const undone = new Set<unknown>();
  const seen = new Set<string>();
  let id = session.leafId;
  for (; id !== null && !seen.has(id) && items.length < maxItems; ) {
    seen.add(id);
    const entry = session.entry(id);
    if (entry === undefined) break;
    if (entry.type === "context_edit" && !edits.has(entry.targetId)) edits.set(entry.targetId, entry);
    else if (entry.type === "custom" && entry.customType === UNDO_CUSTOM_TYPE)
      undone.add((entry.data as { compactionId?: unknown } | undefined)?.compactionId);
    else if (isShown(entry)) items.push({ entry, edit: edits.get(entry.id), isUndone: undone.has(entry.id) });
    id = entry.parentId;
  }
  return { items: items.reverse(), hasEarlier: id !== null && !seen.has(id) };
}

function isShown(entry: Entry): boolean {
  switch (entry.type) {
    case "message":
      return typeof entry.message === "object" && entry.message !== null && entry.message.role !== "system";
    case "compaction":
    case "branch_summary":
      return true;
    case "custom_message":
      return entry.display !== false;
    default:
      return false;
  }
}
