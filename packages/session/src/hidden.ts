import { deliberateEdit, isMasked } from "./edited-content.ts";
import { type ContextEditEntry, customTypes, type Entry } from "./entry.ts";
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

type HiddenLookup = (entryId: string) => HiddenEntry | undefined;

/**
 * Finds messages of the path to a leaf (default: the current one) that the model's view does not show as they were, as of
 * now. Leaves out summaries of compactions, and commands that were kept out of the context.
 *
 * Invariant: each message of the path is shown as it was or hidden for one reason; an undo shows its entries again.
 * @throws BonsaiError `entry_not_found`
 */
export function hiddenLookup(session: Session, leafId: string | null = session.leafId): HiddenLookup {
  return lookups(session, leafId);
}

/** Keeps the value of a session until an entry is appended or another leaf is requested. */
function untilChange<Value>(
  make: (session: Session, leafId: string | null) => Value,
): (session: Session, leafId: string | null) => Value {
  const known = new WeakMap<
    Session,
    { index: EntryIndex; count: number; leafId: string | null; value: Value }
  >();
  return (session, leafId) => {
    const index = session.index();
    const last = known.get(session);
    if (last?.index === index && last.count === index.count && last.leafId === leafId) return last.value;
    const value = make(session, leafId);
    known.set(session, { index, count: index.count, leafId, value });
    return value;
  };
}

/** Reads only the entries that decide which compactions count, and those that are looked up. */
const lookups = untilChange((session, leafId): HiddenLookup => {
  const index = session.index();
  const edited = new Map(editedEntries(session, leafId).map((entry) => [entry.entryId, entry]));
  const path = index.ancestry(leafId === null ? -1 : index.find(leafId));
  const compactions = keptParts(session, path);
  const places = new Int32Array(index.count).fill(-1);
  for (const [place, number] of path.slice(0, compactions.at(-1)?.keptFrom).entries()) places[number] = place;
  return (entryId) => {
    const number = index.find(entryId);
    const place = places[number] ?? -1;
    if (compactions.length === 0 || place < 0) return edited.get(entryId);
    const entry = session.entryAt(number);
    if (entry === undefined || entry.type === "compaction" || projectEntry(entry) === undefined)
      return undefined;
    const { id } = compactions.find(({ keptFrom }) => place < keptFrom)!;
    return { entryId, reason: "summarised", by: id };
  };
});

/** The compactions that count, oldest first: each summarises the places of the path before `keptFrom`. */
function keptParts(session: Session, path: readonly number[]): Array<{ id: string; keptFrom: number }> {
  const finder = new ViewFinder();
  for (const number of path.toReversed()) finder.add(viewEntry(session, number));
  return finder.kept
    .map(({ compactionId, keptCount }) => ({ id: compactionId, keptFrom: path.length - keptCount }))
    .reverse();
}

/** The entry if it decides which compactions count; else its id. */
function viewEntry(session: Session, number: number): Entry | { id: string; type: "label" } {
  const index = session.index();
  const [type, detail] = [index.type(number), index.detail(number)];
  const mayChange = detail === undefined || detail === customTypes.undo || detail === customTypes.redo;
  const decides = type === "compaction" || (type === "custom" && mayChange);
  // The body can be lost.
  const entry = decides ? session.entryAt(number) : undefined;
  return entry ?? { id: index.id(number), type: "label" };
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

/** By target, oldest first: all context edits of a session. */
const editsOf = untilChange((session) => {
  const edits: ContextEditEntry[] = [];
  // An edit without a replacement is damaged: it edits nothing.
  for (const { entry } of session.entriesAt(session.index().numbersOf("context_edit")))
    if (entry.type === "context_edit" && entry.replacement !== undefined) edits.push(entry);
  return Map.groupBy(edits, ({ targetId }) => targetId);
});

/**
 * An entry as a model may see it again: with the content that compaction masked or cut, but as a deliberate edit on any
 * branch left it (an extension may redact). Undefined if such an edit removed the entry.
 */
export function recallableEntry(session: Session, entry: Entry): Entry | undefined {
  const original = projectEntry(entry)?.message;
  const edits = editsOf(session, null).get(entry.id) ?? [];
  const edit = original && deliberateEdit(edits, original);
  if (edit === undefined) return entry;
  if (edit.replacement === null) return undefined;
  const { content } = edit.replacement;
  if (entry.type === "message") return { ...entry, message: editedMessage(entry.message, content) } as Entry;
  return entry.type === "custom_message" ? ({ ...entry, content } as Entry) : entry;
}
