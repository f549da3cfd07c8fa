import { isDeliberateEdit, isMasked } from "./edited-content.ts";
import type { ContextEditEntry, Entry } from "./entry.ts";
import { kindWord } from "./entry-types.ts";
import { editedMessage, type ProjectionItem, projectEntry, ViewFinder } from "./projection.ts";
import type { EntryIndex } from "./read/entry-index.ts";
import type { Session } from "./session.ts";

/** A message of a path that the model's view does not show as it was. */
interface HiddenEntry {
  readonly entryId: string;
  /** `summarised`: a summary replaces it. `masked`: its content was cleared. `dropped`: it, or a part of it, was left out. */
  readonly reason: "masked" | "summarised" | "dropped";
  /** The first compaction that summarised it, or the context edit. */
  readonly by: string;
}

/**
 * The messages of the path to a leaf (default: the current one) that the model's view does not show as they were, oldest
 * first. Leaves out summaries of compactions, and commands that were kept out of the context. The result is kept and
 * updated by appends; the first call reads the head of each entry.
 *
 * Invariant: each message of the path is shown as it was or hidden for one reason; an undo shows its entries again.
 * @throws BonsaiError `entry_not_found`
 */
export function hiddenEntries(session: Session, leafId: string | null = session.leafId): HiddenEntry[] {
  return [...hiddenPath(session, leafId).entries()];
}

/** A look-up of `hiddenEntries` by id, as of now. Reads only the entry that it is called with. */
export function hiddenLookup(
  session: Session,
  leafId: string | null = session.leafId,
): (entryId: string) => HiddenEntry | undefined {
  const path = hiddenPath(session, leafId);
  return (entryId) => path.get(entryId);
}

/** True if the model's view hides an entry of the current path. Reads only entries in memory. */
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
/** Types of entries that can change how the model sees earlier ones. */
const CHANGES_VIEW: ReadonlySet<string> = new Set(["compaction", "context_edit", "custom"]);

/** The hidden entries of one path. Reads only the entries that decide which compactions count. */
class HiddenPath {
  readonly #session: Session;
  readonly #index: EntryIndex;
  /** Number of records when it was made. */
  readonly #count: number;
  #leaf: number;
  #leafId: string | null;
  /** The records that a summary replaces, oldest first. */
  readonly #summarised: Int32Array;
  /** By number of a record: its place among those; -1 for none. */
  readonly #places: Int32Array;
  /** The compactions that count, oldest first: each summarises the places before `keptFrom`. */
  readonly #compactions: ReadonlyArray<{ id: string; keptFrom: number }>;
  /** By id: the entries that edits hide, oldest first. */
  readonly #edited: ReadonlyMap<string, HiddenEntry>;

  /** @throws BonsaiError `entry_not_found` */
  constructor(session: Session, leafId: string | null) {
    this.#session = session;
    this.#index = session.index();
    this.#count = this.#index.count;
    this.#leafId = leafId;
    this.#edited = new Map(editedEntries(session, leafId).map((entry) => [entry.entryId, entry]));
    this.#leaf = leafId === null ? -1 : this.#index.find(leafId);
    const path = this.#leaf < 0 ? [] : this.#index.ancestry(this.#leaf);
    this.#compactions = this.#keptParts(path);
    this.#summarised = Int32Array.from(path.slice(0, this.#compactions.at(-1)?.keptFrom ?? 0));
    this.#places = new Int32Array(this.#count).fill(-1);
    for (const [place, number] of this.#summarised.entries()) this.#places[number] = place;
  }

  /** True if the path to this leaf hides the same; then it is the path to that leaf from now on. */
  reaches(leafId: string | null): boolean {
    const index = this.#session.index();
    if (index !== this.#index || index.count < this.#count) return false;
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
    return this.#isMessage(number) ? this.#summarisedAt(number, place) : undefined;
  }

  /** Oldest first. */
  *entries(): Generator<HiddenEntry> {
    // Reads the kinds of all entries in one pass.
    for (const _ of this.#session.readTreeAhead());
    for (const [place, number] of this.#summarised.entries())
      if (this.#isMessage(number)) yield this.#summarisedAt(number, place);
    yield* this.#edited.values();
  }

  #summarisedAt(number: number, place: number): HiddenEntry {
    const by = this.#compactions.find(({ keptFrom }) => place < keptFrom)!.id;
    return { entryId: this.#index.id(number), reason: "summarised", by };
  }

  /** True for an entry that the model sees if no summary replaces it. */
  #isMessage(number: number): boolean {
    const type = this.#index.type(number);
    if (type !== "message" && type !== "custom_message" && type !== "branch_summary") return false;
    if (ALWAYS_SHOWN.has(this.#index.kind(number)?.kind ?? "")) return true;
    const entry = this.#session.entryAt(number);
    return entry !== undefined && projectEntry(entry) !== undefined;
  }

  #keptParts(path: readonly number[]): Array<{ id: string; keptFrom: number }> {
    const finder = new ViewFinder();
    for (const number of path.toReversed()) finder.add(this.#viewEntry(number));
    const parts = finder.kept.map(({ compactionId: id, keptCount }) => ({
      id,
      keptFrom: path.length - keptCount,
    }));
    return parts.reverse();
  }

  /** The entry if it decides which compactions count; else its id. */
  #viewEntry(number: number): Entry | { id: string; type: "label" } {
    const kind = this.#index.kind(number);
    const type = this.#index.type(number);
    const decides =
      type === "compaction" || (type === "custom" && (kind === undefined || kind.change !== undefined));
    // The body can be lost.
    const entry = decides ? this.#session.entryAt(number) : undefined;
    return entry ?? { id: this.#index.id(number), type: "label" };
  }
}

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

/** By target, oldest first: the context edits among the entries of a session that were read so far. */
interface KnownEdits {
  index: EntryIndex;
  readCount: number;
  readonly edits: Map<string, ContextEditEntry[]>;
}

const knownEdits = new WeakMap<Session, KnownEdits>();

/**
 * An entry as a model may see it again: with the content that compaction masked or cut, but as a deliberate edit on any
 * branch left it (an extension may redact). Undefined if such an edit removed the entry.
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
  let known = knownEdits.get(session);
  if (known?.index !== index || known.readCount > index.count) {
    known = { index, readCount: 0, edits: new Map() };
    knownEdits.set(session, known);
  }
  for (const number of index.numbersOf("context_edit", known.readCount)) {
    const edit = session.entryAt(number);
    // An edit without a replacement is damaged: it edits nothing.
    if (edit?.type !== "context_edit" || edit.replacement === undefined) continue;
    const edits = known.edits.get(edit.targetId) ?? [];
    edits.push(edit);
    known.edits.set(edit.targetId, edits);
  }
  known.readCount = index.count;
  return known.edits.get(targetId) ?? [];
}
