import type { Message } from "@bonsai-agent/messages";
import { deliberateEdit, isMaskedContent, isRestoring } from "./edited-content.ts";
import {
  type CompactionEntry,
  type CompactionFields,
  type ContextEditEntry,
  type ContextEditFields,
  type CustomEntry,
  customTypes,
  type Entry,
  type FormatFields,
} from "./entry.ts";
import { entryType, messageRole } from "./entry-types.ts";
import { compactionChange, pinChange, refusedSummaryOf, UndoneCompactions } from "./own-entries.ts";
import { validProviderSummary } from "./provider-summary.ts";

/** One message that the model sees, with the entry that it came from. */
export interface ProjectionItem {
  readonly entryId: string;
  readonly entry: Entry;
  readonly message: Message;
  /** The context edit that made this view differ from what is stored. */
  readonly edit?: ContextEditEntry;
  /** Earlier edits in the view that it replaces, oldest first. Absent if there are none. */
  readonly formerEdits?: readonly ContextEditEntry[];
}

/** The context that the model sees of a path, oldest first. */
export interface Projection {
  readonly items: readonly ProjectionItem[];
  /** The compaction whose summary comes first, if any. */
  readonly compaction?: CompactionEntry;
}

export interface ProjectOptions {
  without?: Iterable<string>;
}

/**
 * The only maker of model context.
 * @param path entries in order, oldest first: a whole path, or a part that reaches back at least to
 *   the first kept entry of its live compaction.
 * @param options.without ids of compactions that count as undone. Default: none
 */
export function project(path: readonly Entry[], { without }: ProjectOptions = {}): Projection {
  const { compaction, keptCount } = ViewFinder.in(path, without);
  const visible = compaction ? [compaction, ...path.slice(path.length - keptCount)] : path;
  const allEdits = visible.filter((entry) => entry.type === "context_edit");
  const edits = Map.groupBy(allEdits, ({ targetId }) => targetId);
  const needless = needlessPins(visible, compaction);
  const items: ProjectionItem[] = [];
  visible.forEach((entry, index) => {
    if ((entry.type === "compaction" && index > 0) || needless.has(entry)) return;
    const own = edits.get(entry.id) ?? [];
    const item = projectEntry(entry, own.at(-1));
    if (item !== undefined) items.push(own.length > 1 ? { ...item, formerEdits: own.slice(0, -1) } : item);
  });
  if (compaction === undefined) return { items };
  return { items: withProviderSummary(items, compaction, visible), compaction };
}

/** Adds the provider's own summary to the message of the compaction. */
function withProviderSummary(
  items: ProjectionItem[],
  compaction: CompactionEntry,
  visible: readonly Entry[],
): ProjectionItem[] {
  const [first, ...rest] = items;
  if (first?.message.role !== "compactionSummary") return items;
  const provider = validProviderSummary(compaction, visible);
  return provider === undefined ? items : [{ ...first, message: { ...first.message, provider } }, ...rest];
}

/** The contribution of an entry to the context; undefined for none. */
export function projectEntry(entry: Entry, edit?: ContextEditEntry): ProjectionItem | undefined {
  const message = entryType(entry.type)?.message?.(entry);
  if (message === undefined) return undefined;
  // An edit without a replacement is damaged: it edits nothing.
  if (edit?.replacement === undefined || isRestoring(edit, message))
    return { entryId: entry.id, entry, message };
  if (edit.replacement === null) return undefined;
  return { entryId: entry.id, entry, message: editedMessage(message, edit.replacement.content), edit };
}

/** True for an edit that shows an entry as it was stored, and so edits nothing. */
export function isRestored(entry: Entry, edit: ContextEditEntry | undefined): boolean {
  const message = edit && projectEntry(entry)?.message;
  return message !== undefined && isRestoring(edit!, message);
}

/** A message with another content, or for a command of the user with another output. Summaries stay as they are. */
export function editedMessage(message: Message, content: unknown): Message {
  return messageRole(message.role)?.withContent?.(message, content) ?? message;
}

/** A shown message with its full content instead of a mask. A deliberate edit before the mask stays. */
export function unmaskedMessage({ edit, entry, message, formerEdits = [] }: ProjectionItem): Message {
  if (edit === undefined || !isMaskedContent(edit.replacement?.content)) return message;
  const original = projectEntry(entry)?.message ?? message;
  const meant = deliberateEdit(formerEdits, original);
  if (meant === undefined) return original;
  return meant.replacement ? editedMessage(original, meant.replacement.content) : message;
}

/** True for an entry that changes how the model sees earlier entries, or other entries of the path. */
export function changesView(entry: Entry): boolean {
  if (entry.type === "compaction" || entry.type === "context_edit") return true;
  if (refusedSummaryOf(entry) !== undefined) return true;
  return compactionChange(entry) !== undefined || pinChange(entry) !== undefined;
}

interface FoundCompaction {
  readonly compactionId: string;
  /** Undefined until its first kept entry is found. */
  keptCount: number | undefined;
}

/**
 * Finds the beginning of the model's view: walks a path from its leaf towards the root, up to the first kept entry of the
 * latest compaction that is not undone. Reads whole paths, and files from their end.
 *
 * A compaction whose first kept entry is not before it keeps the entries that the compaction before it kept, or
 * everything: damage never hides history.
 */
export class ViewFinder {
  /** The live compaction, once it is found. */
  compaction: CompactionEntry | undefined;
  readonly #undone: UndoneCompactions;
  /** The live compaction, then those before it. */
  readonly #compactions: FoundCompaction[] = [];
  readonly #awaited = new Map<string, FoundCompaction[]>();
  #count = 0;

  /** @param without ids of compactions that count as undone. Default: none */
  constructor(without?: Iterable<string>) {
    this.#undone = new UndoneCompactions(without);
  }

  /** The view at the end of a path. */
  static in(path: readonly Entry[], without?: Iterable<string>): ViewFinder {
    const finder = new ViewFinder(without);
    for (let at = path.length - 1; at >= 0; at -= 1) if (finder.add(path[at]!)) break;
    return finder;
  }

  /**
   * Adds the next older entry of the path. Returns true once the view is complete. The id is enough for entries that are
   * neither compactions nor undo or redo one.
   */
  add(entry: Entry | { id: string; type: "label" }): boolean {
    this.#count += 1;
    for (const compaction of this.#awaited.get(entry.id) ?? []) compaction.keptCount = this.#count;
    this.#awaited.delete(entry.id);
    if (entry.type === "custom") this.#undone.addOlder(entry);
    if (entry.type === "compaction" && !this.#undone.has(entry.id)) this.#addCompaction(entry);
    return this.#compactions[0]?.keptCount !== undefined;
  }

  /** Number of entries, counted from the leaf, that the view takes from the path, besides the summary. */
  get keptCount(): number {
    return this.#compactions.find(({ keptCount }) => keptCount !== undefined)?.keptCount ?? this.#count;
  }

  /** The compactions that count, newest first, and the number of entries that each keeps, counted from the leaf. */
  get kept(): { compactionId: string; keptCount: number }[] {
    return this.#compactions.flatMap(({ compactionId, keptCount }) =>
      keptCount === undefined ? [] : [{ compactionId, keptCount }],
    );
  }

  /** True if the live compaction names a first kept entry that is not before it on the path. */
  get lacksKeptEntry(): boolean {
    return this.compaction !== undefined && this.#compactions[0]?.keptCount === undefined;
  }

  #addCompaction(entry: CompactionEntry): void {
    this.compaction ??= entry;
    const keepsNothing = entry.firstKeptEntryId === entry.id;
    const compaction = { compactionId: entry.id, keptCount: keepsNothing ? this.#count : undefined };
    this.#compactions.push(compaction);
    if (keepsNothing) return;
    const awaiting = this.#awaited.get(entry.firstKeptEntryId) ?? [];
    awaiting.push(compaction);
    this.#awaited.set(entry.firstKeptEntryId, awaiting);
  }
}

/**
 * Pin entries that the model does not need: repeated, removed, or already in the summary.
 *
 * Invariant: a pinned text is in the view exactly once; an unpinned text is there only in a summary, with the note that it
 * is unpinned.
 */
function needlessPins(
  visible: readonly Entry[],
  compaction: CompactionEntry | undefined,
): ReadonlySet<Entry> {
  const needless = new Set<Entry>();
  /** By line: the entry that says whether the text is pinned now. */
  const latest = new Map<string, { entry: Entry; isPinned: boolean }>();
  for (const entry of visible) {
    const change = pinChange(entry);
    if (change === undefined) continue;
    const earlier = latest.get(change.line);
    const isNews = earlier?.isPinned !== change.isPinned;
    if (isNews) latest.set(change.line, { entry, isPinned: change.isPinned });
    const repeated = isNews ? earlier?.entry : entry;
    if (repeated !== undefined) needless.add(repeated);
  }
  for (const [line, { entry, isPinned }] of latest)
    if (hasLine(compaction?.summary, line) === isPinned) needless.add(entry);
  return needless;
}

function hasLine(summary: string | undefined, line: string): boolean {
  return summary !== undefined && `\n${summary}\n`.includes(`\n${line}\n`);
}

/** True for an entry after which other programs may see another view than ours, unless companions follow. */
export function needsCompanions(entry: Entry): boolean {
  if (entry.type === "context_edit" || refusedSummaryOf(entry) !== undefined) return false;
  return changesView(entry);
}

/**
 * Adds companions to new entries, so that other programs see the view of `project` at the last of them. Other programs
 * count the latest compaction of a path, even an undone one, and show every pin. So an undo or a redo repeats, in its own
 * line, the compaction that counts from there on, and edits remove the pins that the model need not see. Companions come
 * before the last entry: if the write is cut off, nothing is undone for any program.
 * @param before the path that the new entries continue, at least as far back as the view at the last of them
 * @param added in the order of the path
 * @param newId gives an id that no entry has
 */
export function withCompanions(
  before: readonly Entry[],
  added: readonly Entry[],
  newId: () => string,
): Entry[] {
  const path = [...before, ...added];
  const entries = [...added];
  const projection = project(path);
  const from = path.length - ViewFinder.in(path).keptCount;
  const edits = pinEdits(path.slice(from), projection);
  const at = added.findLastIndex((entry) => compactionChange(entry) !== undefined);
  const restating = at < 0 ? undefined : restated(path, { ...projection, from });
  if (restating !== undefined) {
    const change = added[at] as CustomEntry & Entry;
    entries[at] = { ...change, inFormat: restating.compaction };
    if (restating.isOmitted) edits.push({ type: "context_edit", targetId: change.id, replacement: null });
  }
  const { timestamp, parentId } = added[0]!;
  const { companion: customType } = customTypes;
  const companions = edits.map(
    (inFormat): Entry => ({ type: "custom", id: newId(), parentId: null, timestamp, customType, inFormat }),
  );
  entries.splice(-1, 0, ...companions);
  return entries.map((entry, place) => ({ ...entry, parentId: entries[place - 1]?.id ?? parentId }));
}

/** Shown by programs that cannot leave a summary out. */
const WHOLE = "Nothing is summarised here. The full conversation follows.";

/**
 * The compaction that other programs must count at the end of a path; undefined if they count the right one.
 * @param view.from place in the path of the first entry that is kept
 */
function restated(
  path: readonly Entry[],
  { items, compaction, from }: Projection & { from: number },
): { compaction: CompactionFields; isOmitted: boolean } | undefined {
  const isShown = compaction !== undefined && items[0]?.entryId === compaction.id;
  const theirs = formatBase(path);
  if (theirs.summary === (isShown ? compaction.summary : undefined) && theirs.from === from) return undefined;
  const restating: CompactionFields = {
    type: "compaction",
    summary: compaction?.summary ?? WHOLE,
    firstKeptEntryId: path[from]!.id,
    tokensBefore: compaction?.tokensBefore ?? 0,
  };
  return { compaction: restating, isOmitted: !isShown };
}

/** The view by the format's own rule: the latest compaction of the path counts, and an edit can leave its summary out. */
function formatBase(path: readonly Entry[]): { summary: string | undefined; from: number } {
  const at = path.findLastIndex((entry) => formatOf(entry)?.type === "compaction");
  if (at < 0) return { summary: undefined, from: 0 };
  const { summary, firstKeptEntryId } = formatOf(path[at]!) as CompactionFields;
  const { id } = path[at]!;
  const kept = firstKeptEntryId === id ? at : path.findIndex((entry) => entry.id === firstKeptEntryId);
  const edit = latestEdits(path.slice(Math.max(0, kept))).get(id);
  return { summary: edit?.replacement === null ? undefined : summary, from: kept };
}

/** Edits that make the pins of other programs' view the same as ours. */
function pinEdits(visible: readonly Entry[], { items }: Projection): ContextEditFields[] {
  const shown = new Map(items.map((item) => [item.entryId, item]));
  const latest = latestEdits(visible);
  return visible.flatMap((entry): ContextEditFields[] => {
    if (entry.type !== "custom_message" || pinChange(entry) === undefined) return [];
    const edit = latest.get(entry.id);
    const item = shown.get(entry.id);
    if ((item === undefined) === (edit?.replacement === null)) return [];
    const replacement = item === undefined ? null : (item.edit?.replacement ?? { content: entry.content });
    return [{ type: "context_edit", targetId: entry.id, replacement }];
  });
}

/** By target: the latest edit in the view of programs that know only the format. */
function latestEdits(visible: readonly Entry[]): Map<string, ContextEditFields> {
  const latest = new Map<string, ContextEditFields>();
  for (const entry of visible) {
    const fields = formatOf(entry);
    if (fields?.type === "context_edit") latest.set(fields.targetId, fields);
  }
  return latest;
}

function formatOf(entry: Entry): FormatFields | undefined {
  if (entry.type === "compaction" || entry.type === "context_edit") return entry;
  return entry.type === "custom" ? entry.inFormat : undefined;
}
