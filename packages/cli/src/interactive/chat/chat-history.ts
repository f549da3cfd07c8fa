import { summaryLoss } from "@bonsai-agent/compaction";
import type { SummaryLoss } from "@bonsai-agent/compaction/host";
import type { CompactionEntry, ContextEditEntry, Entry, Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";

/** What of a session is shown. Owner of where the history of each begins that is shown without reading the file. */
export class ChatHistory {
  readonly #isDrawn: (customType: unknown) => boolean;
  readonly #floors = new WeakMap<Session, string | undefined>();

  /** @param isDrawn whether an extension draws entries of this `customType` */
  constructor(isDrawn: (customType: unknown) => boolean) {
    this.#isDrawn = isDrawn;
  }

  path(session: Session): ChatPath {
    return chatPath(session, { floorId: this.#floorOf(session), isDrawn: this.#isDrawn });
  }

  /** How many of its entries extensions draw. */
  drawnCount(session: Session): number {
    return this.path(session).items.filter(({ entry }) => entry.type === "custom").length;
  }

  /** What was in memory when the session was opened stays there; without a compaction, everything is. */
  #floorOf(session: Session): string | undefined {
    const floorId = oldestHeldId(session);
    if (floorId === undefined || !this.#floors.has(session)) this.#floors.set(session, floorId);
    return this.#floors.get(session);
  }
}

/** An entry that the chat shows. */
export interface ChatItem {
  entry: Entry;
  /** The latest edit of it: what the model sees in its place. */
  edit?: ContextEditEntry | undefined;
  /** A compaction that no longer counts. */
  isUndone?: boolean;
  /** Of a compaction: what its summary carries and what it left out. */
  loss?: SummaryLoss;
}

interface ChatPath {
  /** Oldest first. */
  items: ChatItem[];
  /** True where the path goes further back. */
  hasEarlier: boolean;
}

interface ChatPathOptions {
  /** Default 200. */
  maxItems?: number;
  /** Nothing before this entry is shown: it may not be in memory. */
  floorId?: string | undefined;
  /** Whether an extension draws entries of this `customType`. Default: none does. */
  isDrawn?: (customType: unknown) => boolean;
}

/**
 * The latest of what stands on the path to the leaf, as it was stored: also what a compaction took out of the model's view,
 * and what is masked in it. Goes back from the leaf, so that a long history costs no more than a short one.
 */
export function chatPath(
  session: Pick<Session, "leafId" | "entry">,
  { maxItems = 200, floorId, isDrawn = () => false }: ChatPathOptions = {},
): ChatPath {
  const items: ChatItem[] = [];
  // What later entries change of earlier ones: the first that is met is the latest.
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
        edit: edits.get(entry.id),
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

/** The oldest entry that an opened session has in memory; undefined where it has the whole path. */
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
