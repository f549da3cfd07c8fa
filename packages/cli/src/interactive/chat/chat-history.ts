import { summaryLoss } from "@bonsai-agent/compaction";
import type { SummaryLoss } from "@bonsai-agent/compaction/host";
import type { CompactionEntry, ContextEditEntry, Entry, Session } from "@bonsai-agent/session";
import { isRestored, UndoneCompactions } from "@bonsai-agent/session/host";

/** Finds the entries of a session that the chat shows, without reading its file. */
export class ChatHistory {
  readonly #isDrawn: (customType: unknown) => boolean;
  readonly #floors = new WeakMap<Session, string | undefined>();

  constructor(isDrawn: (customType: unknown) => boolean) {
    this.#isDrawn = isDrawn;
  }

  path(session: Session): ChatPath {
    return chatPath(session, { floorId: this.#floorOf(session), isDrawn: this.#isDrawn });
  }

  drawnCount(session: Session): number {
    return this.path(session).items.filter(({ entry }) => entry.type === "custom").length;
  }

  /** The entries that were in memory at the start stay there; without a compaction, all entries are. */
  #floorOf(session: Session): string | undefined {
    const floorId = oldestHeldId(session);
    if (floorId === undefined || !this.#floors.has(session)) this.#floors.set(session, floorId);
    return this.#floors.get(session);
  }
}

export interface ChatItem {
  entry: Entry;
  /** Its latest edit, which the model sees. */
  edit?: ContextEditEntry | undefined;
  isUndone?: boolean;
  loss?: SummaryLoss;
}

interface ChatPath {
  items: ChatItem[];
  hasEarlier: boolean;
}

interface ChatPathOptions {
  /** Default 200. */
  maxItems?: number;
  /** The oldest shown entry: earlier ones may not be in memory. */
  floorId?: string | undefined;
  /** True if an extension draws entries of this `customType`. Default: none. */
  isDrawn?: (customType: unknown) => boolean;
}

/** The latest entries of the path, as they were stored, even if the model no longer sees them. */
export function chatPath(
  session: Pick<Session, "leafId" | "entry">,
  { maxItems = 200, floorId, isDrawn = () => false }: ChatPathOptions = {},
): ChatPath {
  const items: ChatItem[] = [];
  const edits = new Map<string, ContextEditEntry>();
  const undone = new UndoneCompactions();
  const seen = new Set<string>();
  let id = session.leafId;
  while (id !== null && !seen.has(id) && items.length < maxItems) {
    seen.add(id);
    const entry = session.entry(id);
    if (entry === undefined) break;
    undone.addOlder(entry);
    if (entry.type === "context_edit" && !edits.has(entry.targetId)) edits.set(entry.targetId, entry);
    if (isShown(entry) || (entry.type === "custom" && isDrawn(entry.customType)))
      items.push({
        entry,
        edit: isRestored(entry, edits.get(entry.id)) ? undefined : edits.get(entry.id),
        isUndone: undone.has(entry.id),
        ...(entry.type === "compaction" && { loss: lossOf(entry, session) }),
      });
    id = entry.parentId;
    if (entry.id === floorId) break;
  }
  return { items: items.reverse(), hasEarlier: id !== null && !seen.has(id) };
}

function lossOf(compaction: CompactionEntry, session: Pick<Session, "entry">): SummaryLoss {
  const { parentId } = compaction;
  return summaryLoss(compaction, parentId === null ? undefined : session.entry(parentId));
}

/** The oldest entry in memory; undefined if the whole path is there. */
export function oldestHeldId(session: Pick<Session, "projection">): string | undefined {
  return session.projection().compaction?.firstKeptEntryId;
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
