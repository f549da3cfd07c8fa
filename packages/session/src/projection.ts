import { contentText, type Message } from "@bonsai-agent/messages";
import {
  type CompactionEntry,
  type ContextEditEntry,
  type Entry,
  PIN_CUSTOM_TYPE,
  UNDO_CUSTOM_TYPE,
  UNPIN_CUSTOM_TYPE,
} from "./entry.ts";

/** One message that the model sees, with the entry that it came from. */
export interface ProjectionItem {
  readonly entryId: string;
  readonly entry: Entry;
  readonly message: Message;
  /** The context edit that made this view differ from what is stored. */
  readonly edit?: ContextEditEntry;
}

/** What the model sees of a path, oldest first. */
export interface Projection {
  readonly items: readonly ProjectionItem[];
  /** The compaction whose summary stands first, if any. */
  readonly compaction?: CompactionEntry;
}

/** The latest compaction of a path that no later entry undoes. */
export function liveCompaction(path: readonly Entry[]): CompactionEntry | undefined {
  return findView(path).compaction;
}

/**
 * The only maker of model context.
 * @param path entries in order, oldest first: a whole path, or a part that reaches back at least to
 *   the first kept entry of its live compaction.
 */
export function project(path: readonly Entry[]): Projection {
  const { compaction, firstKept } = findView(path);
  const visible = compaction ? [compaction, ...path.slice(firstKept)] : path;
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of visible) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  const needless = needlessPins(visible, compaction);
  const items: ProjectionItem[] = [];
  visible.forEach((entry, index) => {
    if ((entry.type === "compaction" && index > 0) || needless.has(entry)) return;
    const item = projectEntry(entry, edits.get(entry.id));
    if (item !== undefined) items.push(item);
  });
  return compaction ? { items, compaction } : { items };
}

/** The live compaction of a path, and where what it keeps begins. */
function findView(path: readonly Entry[]): { compaction?: CompactionEntry; firstKept: number } {
  const seeker = new ViewSeeker();
  for (let at = path.length - 1; at >= 0; at -= 1) if (seeker.older(path[at]!)) break;
  const { compaction, keptCount } = seeker;
  return { ...(compaction && { compaction }), firstKept: path.length - keptCount };
}

/** What an entry contributes to the context; undefined for nothing. */
export function projectEntry(entry: Entry, edit?: ContextEditEntry): ProjectionItem | undefined {
  const message = entryMessage(entry);
  if (message === undefined) return undefined;
  if (edit === undefined) return { entryId: entry.id, entry, message };
  // An edit without a replacement is damaged: it edits nothing.
  if (edit.replacement === undefined) return { entryId: entry.id, entry, message };
  if (edit.replacement === null) return undefined;
  return { entryId: entry.id, entry, message: editedMessage(message, edit.replacement.content), edit };
}

/** A message with another content: for a command of the user, its output; a summary has none that could be replaced. */
export function editedMessage(message: Message, content: unknown): Message {
  switch (message.role) {
    case "user":
    case "custom":
      return { ...message, content } as Message;
    case "assistant":
    case "toolResult":
      return {
        ...message,
        content: typeof content === "string" ? [{ type: "text", text: content }] : content,
      } as Message;
    case "bashExecution":
      return { ...message, output: typeof content === "string" ? content : contentText(content) };
    default:
      return message;
  }
}

/** The message that an entry contributes to the context, before edits; undefined for none. */
function entryMessage(entry: Entry): Message | undefined {
  if (entry.type === "message") return shownMessage(entry.message);
  const timestamp = Date.parse(entry.timestamp);
  switch (entry.type) {
    case "compaction":
      return {
        role: "compactionSummary",
        summary: entry.summary,
        tokensBefore: entry.tokensBefore,
        timestamp,
      };
    case "branch_summary":
      return { role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp };
    case "custom_message":
      return {
        role: "custom",
        customType: entry.customType,
        content: entry.content,
        display: entry.display,
        details: entry.details,
        timestamp,
      };
    default:
      return undefined;
  }
}

/** What a model can be shown. A message of another role is kept and, like an entry of another type, left out. */
const SHOWN_ROLES: ReadonlySet<unknown> = new Set([
  "user",
  "assistant",
  "toolResult",
  "bashExecution",
  "custom",
  "branchSummary",
  "compactionSummary",
]);

function shownMessage(message: Message | undefined): Message | undefined {
  if (typeof message !== "object" || message === null || !SHOWN_ROLES.has(message.role)) return undefined;
  if (message.role === "bashExecution" && message.excludeFromContext) return undefined;
  return message;
}

/**
 * Walks a path from its leaf towards the root, as far as the model's view of it reaches: to the first kept
 * entry of the latest compaction that nothing undoes. It is the one place where that rule stands, for whole
 * paths and for reading a file backwards.
 *
 * A compaction whose first kept entry is not before it keeps what the compaction before it kept, or
 * everything: damage never hides history.
 */
export class ViewSeeker {
  /** The live compaction, once it was met. */
  compaction: CompactionEntry | undefined;
  readonly #undone = new Set<string>();
  /** The live compaction, then those before it: how many entries each keeps, once that is known. */
  readonly #compactions: Array<{ keptCount: number | undefined }> = [];
  /** Which of them wait for this entry. */
  readonly #awaited = new Map<string, Array<{ keptCount: number | undefined }>>();
  #count = 0;

  /** Takes the next older entry of the path; true when the model sees nothing older. */
  older(entry: Entry): boolean {
    this.#count += 1;
    for (const compaction of this.#awaited.get(entry.id) ?? []) compaction.keptCount = this.#count;
    this.#awaited.delete(entry.id);
    const undone = undoneBy(entry);
    if (undone !== undefined) this.#undone.add(undone);
    if (entry.type === "compaction" && !this.#undone.has(entry.id)) this.#meet(entry);
    return this.#compactions[0]?.keptCount !== undefined;
  }

  /** How many entries, counted from the leaf, the view takes from the path, besides the summary. */
  get keptCount(): number {
    for (const { keptCount } of this.#compactions) if (keptCount !== undefined) return keptCount;
    return this.#count;
  }

  /** True when the live compaction names a first kept entry that the path does not have before it. */
  get lacksKeptEntry(): boolean {
    return this.compaction !== undefined && this.#compactions[0]?.keptCount === undefined;
  }

  #meet(entry: CompactionEntry): void {
    this.compaction ??= entry;
    const keepsNothing = entry.firstKeptEntryId === entry.id;
    const compaction = { keptCount: keepsNothing ? this.#count : undefined };
    this.#compactions.push(compaction);
    if (keepsNothing) return;
    const others = this.#awaited.get(entry.firstKeptEntryId);
    if (others === undefined) this.#awaited.set(entry.firstKeptEntryId, [compaction]);
    else others.push(compaction);
  }
}

/** The compaction that an entry undoes. */
export function undoneBy(entry: Entry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== UNDO_CUSTOM_TYPE) return undefined;
  const { data } = entry;
  const id =
    typeof data === "object" && data !== null && "compactionId" in data ? data.compactionId : undefined;
  return typeof id === "string" ? id : undefined;
}

/** What an entry says of a pinned text. */
export interface PinChange {
  /** Word for word. */
  text: string;
  /** The text as it stands in a summary that carries it, on lines of its own. */
  line: string;
  isPinned: boolean;
}

/** What an entry pins or unpins; undefined for any other, and where its details are damaged. */
export function pinChange(entry: Entry): PinChange | undefined {
  return entry.type === "custom_message" ? pinChangeIn(entry) : undefined;
}

/** The same of a message as front ends have it. */
export function pinChangeIn({
  customType,
  details,
}: {
  customType?: unknown;
  details?: unknown;
}): PinChange | undefined {
  if (customType !== PIN_CUSTOM_TYPE && customType !== UNPIN_CUSTOM_TYPE) return undefined;
  const { text, line } = (details ?? {}) as Partial<Record<string, unknown>>;
  if (typeof text !== "string" || typeof line !== "string" || line.trim() === "") return undefined;
  return { text, line, isPinned: customType === PIN_CUSTOM_TYPE };
}

/**
 * The pins, and what was said about them, that the model need not see: what the summary says already, what was taken
 * back, what is said twice.
 *
 * Invariant: a text that is pinned is in the view exactly once; one that is not is there only where the summary holds it,
 * with the word that it counts no more.
 */
function needlessPins(
  visible: readonly Entry[],
  compaction: CompactionEntry | undefined,
): ReadonlySet<Entry> {
  const needless = new Set<Entry>();
  /** By line: what says how it stands with that text now. */
  const telling = new Map<string, { entry: Entry; isPinned: boolean }>();
  for (const entry of visible) {
    const change = pinChange(entry);
    if (change === undefined) continue;
    const earlier = telling.get(change.line);
    const isNews = earlier?.isPinned !== change.isPinned;
    if (isNews) telling.set(change.line, { entry, isPinned: change.isPinned });
    const silenced = isNews ? earlier?.entry : entry;
    if (silenced !== undefined) needless.add(silenced);
  }
  for (const [line, { entry, isPinned }] of telling)
    if (holdsLine(compaction?.summary, line) === isPinned) needless.add(entry);
  return needless;
}

function holdsLine(summary: unknown, line: string): boolean {
  return typeof summary === "string" && `\n${summary}\n`.includes(`\n${line}\n`);
}
