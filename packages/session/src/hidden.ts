import { isDeliberateEdit, isMasked } from "./edited-content.ts";
import type { ContextEditEntry, Entry } from "./entry.ts";
import { kindWord } from "./entry-types.ts";
import { editedMessage, type ProjectionItem, projectEntry, ViewSeeker } from "./projection.ts";
import type { EntryIndex } from "./read/entry-index.ts";
import type { Session } from "./session.ts";

/** A message of a path that the model's view does not show as it was. */
export interface HiddenEntry {
  readonly entryId: string;
  /**
   * `summarised`: a summary stands for it. `masked`: its content was cleared. `dropped`: it was left out, or a part of its
   * content was.
   */
  readonly reason: "masked" | "summarised" | "dropped";
  /** The compaction that first left it behind its summary, or the context edit. */
  readonly by: string;
}

/**
 * The messages of the path to a leaf (default: the current one) that the model's view does not show as they were, oldest
 * first. Summaries of compactions are none of them, nor commands that were kept out of the context. What is found is kept,
 * and caught up by appends; the first call reads the head of each entry.
 *
 * Invariant: each message of the path is shown as it was or hidden for one reason; after an undo, nothing that it brought
 * back is hidden.
 * @throws BonsaiError `entry_not_found`
 */
export function hiddenEntries(session: Session, leafId: string | null = session.leafId): HiddenEntry[] {
  return [...hiddenPath(session, leafId).entries()];
}

/** The same of one entry; undefined where it is not on the path, or the model sees it as it was. Reads no more than that entry. */
export function hiddenEntry(
  session: Session,
  entryId: string,
  leafId: string | null = session.leafId,
): HiddenEntry | undefined {
  return hiddenPath(session, leafId).get(entryId);
}

/** The same for many in a row: as of now. */
export function hiddenLookup(
  session: Session,
  leafId: string | null = session.leafId,
): (entryId: string) => HiddenEntry | undefined {
  const path = hiddenPath(session, leafId);
  return (entryId) => path.get(entryId);
}

/** True where the path to the current leaf has something that the model's view hides. Reads nothing that is not in memory. */
export function hidesEntries(session: Session): boolean {
  const projection = session.projection();
  if (projection.compaction !== undefined) return true;
  for (const entry of session.tail(session.leafId, projection))
    if (entry.type === "context_edit") return true;
  return false;
}

const paths = new WeakMap<Session, HiddenPath>();

function hiddenPath(session: Session, leafId: string | null): HiddenPath {
  const known = paths.get(session);
  if (known?.reaches(leafId)) return known;
  const path = new HiddenPath(session, leafId);
  paths.set(session, path);
  return path;
}

/** Messages of these kinds are shown to every model. */
const ALWAYS_SHOWN: ReadonlySet<string> = new Set(["user", "assistant", "toolResult"].map(kindWord));

/** The hidden entries of one path. Reads only the entries that decide which compactions count. */
class HiddenPath {
  readonly #session: Session;
  readonly #index: EntryIndex;
  /** How many records it had. */
  readonly #indexed: number;
  #leaf: number;
  #leafId: string | null;
  /** The records that a summary replaces, oldest first. */
  readonly #behind: Int32Array;
  /** By number of a record: its place among those; -1 for none. */
  readonly #places: Int32Array;
  /** The compactions that count, oldest first, and before which place each left all behind. */
  readonly #compactions: ReadonlyArray<{ id: string; keptFrom: number }>;
  /** The entries that edits hide, oldest first, by id. */
  readonly #edited: ReadonlyMap<string, HiddenEntry>;

  /** @throws BonsaiError `entry_not_found` */
  constructor(session: Session, leafId: string | null) {
    this.#session = session;
    this.#index = session.index();
    this.#indexed = this.#index.count;
    this.#leafId = leafId;
    this.#edited = new Map(editedEntries(session, leafId).map((entry) => [entry.entryId, entry]));
    this.#leaf = leafId === null ? -1 : this.#index.find(leafId);
    const path = this.#leaf < 0 ? [] : this.#index.ancestry(this.#leaf);
    const kept = this.#keptParts(path);
    this.#compactions = kept.toReversed();
    this.#behind = Int32Array.from(path.slice(0, kept[0]?.keptFrom ?? 0));
    this.#places = new Int32Array(this.#indexed).fill(-1);
    for (const [place, number] of this.#behind.entries()) this.#places[number] = place;
  }

  /** True where this is what the path to a leaf hides too; then it holds for that one from now on. */
  reaches(leafId: string | null): boolean {
    const index = this.#session.index();
    if (index !== this.#index || index.count < this.#indexed) return false;
    if (leafId === this.#leafId) return true;
    const leaf = leafId === null ? -1 : index.find(leafId);
    let at = leaf;
    while (at > this.#leaf && !CHANGES_VIEW.has(index.type(at))) at = index.parent(at);
    if (leaf < 0 || at !== this.#leaf) return false;
    [this.#leaf, this.#leafId] = [leaf, leafId];
    return true;
  }

  get(entryId: string): HiddenEntry | undefined {
    const number = this.#index.find(entryId);
    const place = this.#places[number] ?? -1;
    if (place < 0) return this.#edited.get(entryId);
    return this.#isShown(number) ? this.#summarised(number, place) : undefined;
  }

  /** Oldest first. */
  *entries(): Generator<HiddenEntry> {
    // Learns the kinds of all entries at one go.
    for (const _ of this.#session.readTreeAhead());
    for (const [place, number] of this.#behind.entries())
      if (this.#isShown(number)) yield this.#summarised(number, place);
    yield* this.#edited.values();
  }

  #summarised(number: number, place: number): HiddenEntry {
    const by = this.#compactions.find(({ keptFrom }) => place < keptFrom)!.id;
    return { entryId: this.#index.id(number), reason: "summarised", by };
  }

  /** True for what a model sees where no summary stands for it. */
  #isShown(number: number): boolean {
    const type = this.#index.type(number);
    if (type !== "message" && type !== "custom_message" && type !== "branch_summary") return false;
    if (ALWAYS_SHOWN.has(this.#index.kind(number)?.kind ?? "")) return true;
    const entry = this.#session.entryAt(number);
    return entry !== undefined && projectEntry(entry) !== undefined;
  }

  /** Newest first. */
  #keptParts(path: readonly number[]): Array<{ id: string; keptFrom: number }> {
    const seeker = new ViewSeeker();
    for (const number of path.toReversed()) seeker.older(this.#viewEntry(number));
    return seeker.kept.map(({ compactionId, keptCount }) => ({
      id: compactionId,
      keptFrom: path.length - keptCount,
    }));
  }

  /** An entry as far as it says which compactions count. */
  #viewEntry(number: number): Entry | { id: string; type: "label" } {
    const kind = this.#index.kind(number);
    const type = this.#index.type(number);
    const says =
      type === "compaction" || (type === "custom" && (kind === undefined || kind.change !== undefined));
    const entry = says ? this.#session.entryAt(number) : undefined;
    // All others only count, and so does one whose body is lost.
    return entry ?? { id: this.#index.id(number), type: "label" };
  }
}

/** Types of entries that can change what the model sees of those before them. */
const CHANGES_VIEW: ReadonlySet<string> = new Set(["compaction", "context_edit", "custom"]);

/** The entries that context edits hide in the model's view, oldest first. */
function editedEntries(session: Session, leafId: string | null): HiddenEntry[] {
  const projection = session.projection(leafId);
  const edits = new Map<string, ContextEditEntry>();
  const found: HiddenEntry[] = [];
  const shown = new Map(projection.items.map((item) => [item.entryId, item]));
  for (const entry of session.tail(leafId, projection)) {
    if (entry.type === "context_edit" && !edits.has(entry.targetId)) edits.set(entry.targetId, entry);
    const edit = edits.get(entry.id);
    if (edit === undefined || entry.type === "compaction" || projectEntry(entry) === undefined) continue;
    const reason = reasonOf(edit, shown.get(entry.id));
    if (reason !== undefined) found.push({ entryId: entry.id, reason, by: edit.id });
  }
  return found.reverse();
}

function reasonOf(
  { replacement }: ContextEditEntry,
  item: ProjectionItem | undefined,
): HiddenEntry["reason"] | undefined {
  if (item === undefined) return replacement === null ? "dropped" : undefined;
  if (item.edit === undefined || item.message.role === "branchSummary") return undefined;
  return isMasked(item.message) ? "masked" : "dropped";
}

/** The edits of a session that took something away on purpose, as far as its entries were looked through. */
interface Redactions {
  index: EntryIndex;
  read: number;
  /** By target, oldest first. */
  readonly edits: Map<string, ContextEditEntry[]>;
}

const redactions = new WeakMap<Session, Redactions>();

/**
 * An entry as a model may be shown it again: with its content, though compaction masked or cut it; as an edit of somebody
 * else left it, such as an extension that redacts, on whatever branch; undefined where one took it out.
 */
export function recallableEntry(session: Session, entry: Entry): Entry | undefined {
  const original = projectEntry(entry)?.message;
  const edit =
    original &&
    editsOf(session, entry.id).findLast(({ replacement }) => isDeliberateEdit(replacement, original));
  if (edit === undefined) return entry;
  if (edit.replacement === null) return undefined;
  const { content } = edit.replacement;
  if (entry.type === "message") return { ...entry, message: editedMessage(entry.message, content) } as Entry;
  return entry.type === "custom_message" ? ({ ...entry, content } as Entry) : entry;
}

function editsOf(session: Session, targetId: string): readonly ContextEditEntry[] {
  const index = session.index();
  let known = redactions.get(session);
  if (known?.index !== index || known.read > index.count) {
    known = { index, read: 0, edits: new Map() };
    redactions.set(session, known);
  }
  for (; known.read < index.count; known.read += 1) {
    const edit = index.type(known.read) === "context_edit" ? session.entryAt(known.read) : undefined;
    // One without a replacement is damaged: it edits nothing.
    if (edit?.type !== "context_edit" || edit.replacement === undefined) continue;
    const own = known.edits.get(edit.targetId);
    if (own === undefined) known.edits.set(edit.targetId, [edit]);
    else own.push(edit);
  }
  return known.edits.get(targetId) ?? [];
}
