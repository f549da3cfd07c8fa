import type { Message } from "@bonsai-agent/messages";
import type { CompactionEntry, ContextEditEntry, Entry } from "./entry.ts";
import { entryType, messageRole } from "./entry-types.ts";
import { pinChange, UndoneCompactions } from "./own-entries.ts";

/** One message that the model sees, with the entry that it came from. */
export interface ProjectionItem {
  readonly entryId: string;
  readonly entry: Entry;
  readonly message: Message;
  /** The context edit that made this view differ from what is stored. */
  readonly edit?: ContextEditEntry;
  /** Edits in the view that it took the place of, oldest first; absent where there were none. */
  readonly formerEdits?: readonly ContextEditEntry[];
}

/** The context that the model sees of a path, oldest first. */
export interface Projection {
  readonly items: readonly ProjectionItem[];
  /** The compaction whose summary stands first, if any. */
  readonly compaction?: CompactionEntry;
}

export interface ProjectOptions {
  without?: Iterable<string>;
}

/**
 * The only maker of model context.
 * @param path entries in order, oldest first: a whole path, or a part that reaches back at least to
 *   the first kept entry of its live compaction.
 * @param options.without ids of compactions that are to count as undone. Default: none
 */
export function project(path: readonly Entry[], { without }: ProjectOptions = {}): Projection {
  const { compaction, firstKept } = findView(path, without);
  const visible = compaction ? [compaction, ...path.slice(firstKept)] : path;
  const edits = new Map<string, ContextEditEntry[]>();
  for (const entry of visible) {
    if (entry.type !== "context_edit") continue;
    const known = edits.get(entry.targetId);
    if (known === undefined) edits.set(entry.targetId, [entry]);
    else known.push(entry);
  }
  const needless = needlessPins(visible, compaction);
  const items: ProjectionItem[] = [];
  visible.forEach((entry, index) => {
    if ((entry.type === "compaction" && index > 0) || needless.has(entry)) return;
    const own = edits.get(entry.id) ?? [];
    const item = projectEntry(entry, own.at(-1));
    if (item !== undefined) items.push(own.length > 1 ? { ...item, formerEdits: own.slice(0, -1) } : item);
  });
  return compaction ? { items, compaction } : { items };
}

/** The live compaction of a path, and where what it keeps begins. */
function findView(
  path: readonly Entry[],
  without: Iterable<string> | undefined,
): { compaction?: CompactionEntry; firstKept: number } {
  const seeker = new ViewSeeker(without);
  for (let at = path.length - 1; at >= 0; at -= 1) if (seeker.older(path[at]!)) break;
  const { compaction, keptCount } = seeker;
  return { ...(compaction && { compaction }), firstKept: path.length - keptCount };
}

/** The contribution of an entry to the context; undefined for none. */
export function projectEntry(entry: Entry, edit?: ContextEditEntry): ProjectionItem | undefined {
  const message = entryType(entry.type)?.message(entry);
  if (message === undefined) return undefined;
  if (edit === undefined) return { entryId: entry.id, entry, message };
  // An edit without a replacement is damaged: it edits nothing.
  if (edit.replacement === undefined) return { entryId: entry.id, entry, message };
  if (edit.replacement === null) return undefined;
  return { entryId: entry.id, entry, message: editedMessage(message, edit.replacement.content), edit };
}

/** A message with another content: for a command of the user, its output; a summary has none that could be replaced. */
export function editedMessage(message: Message, content: unknown): Message {
  return messageRole(message.role)?.withContent?.(message, content) ?? message;
}

/** A compaction, and how many entries the view takes from the path since. */
export interface KeptPart {
  readonly compactionId: string;
  readonly keptCount: number;
}

interface Seeking {
  readonly compactionId: string;
  /** Undefined until its first kept entry is met. */
  keptCount: number | undefined;
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
  readonly #undone: UndoneCompactions;
  /** The live compaction, then those before it: how many entries each keeps, once that is known. */
  readonly #compactions: Seeking[] = [];
  /** Which of them wait for this entry. */
  readonly #awaited = new Map<string, Seeking[]>();
  #count = 0;

  /** @param without ids of compactions that are to count as undone. Default: none */
  constructor(without?: Iterable<string>) {
    this.#undone = new UndoneCompactions(without);
  }

  /**
   * Takes the next older entry of the path; true when the model sees nothing older. Of entries that are neither
   * compactions nor undo or redo one, the id is enough.
   */
  older(entry: Entry | { id: string; type: "label" }): boolean {
    this.#count += 1;
    for (const compaction of this.#awaited.get(entry.id) ?? []) compaction.keptCount = this.#count;
    this.#awaited.delete(entry.id);
    if (entry.type === "custom") this.#undone.older(entry);
    if (entry.type === "compaction" && !this.#undone.has(entry.id)) this.#meet(entry);
    return this.#compactions[0]?.keptCount !== undefined;
  }

  /** How many entries, counted from the leaf, the view takes from the path, besides the summary. */
  get keptCount(): number {
    for (const { keptCount } of this.#compactions) if (keptCount !== undefined) return keptCount;
    return this.#count;
  }

  /** The compactions that count, newest first, and how many entries each keeps, counted from the leaf. */
  get kept(): readonly KeptPart[] {
    return this.#compactions.flatMap(({ compactionId, keptCount }) =>
      keptCount === undefined ? [] : [{ compactionId, keptCount }],
    );
  }

  /** True when the live compaction names a first kept entry that the path does not have before it. */
  get lacksKeptEntry(): boolean {
    return this.compaction !== undefined && this.#compactions[0]?.keptCount === undefined;
  }

  #meet(entry: CompactionEntry): void {
    this.compaction ??= entry;
    const keepsNothing = entry.firstKeptEntryId === entry.id;
    const compaction: Seeking = {
      compactionId: entry.id,
      keptCount: keepsNothing ? this.#count : undefined,
    };
    this.#compactions.push(compaction);
    if (keepsNothing) return;
    const others = this.#awaited.get(entry.firstKeptEntryId);
    if (others === undefined) this.#awaited.set(entry.firstKeptEntryId, [compaction]);
    else others.push(compaction);
  }
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
