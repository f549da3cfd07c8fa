import { type Entry, type EntryIndex, LEAF_CUSTOM_TYPE, type Session, undoneBy } from "@bonsai-agent/session";
import { kindOf, previewOf } from "./preview.ts";

/** A session's entries as a tree of positions in file order. Children and roots come with the active branch first. */
export interface SessionTree {
  readonly entries: readonly OutlineEntry[];
  readonly roots: readonly number[];
  /** Children that are worth showing: a childless record of a moved leaf is not. */
  children(at: number): readonly number[];
  /** Whether there are any. */
  hasChildren(at: number): boolean;
  /** True on the path from a root to the current position. */
  isActive(at: number): boolean;
  labelOf(at: number): string | undefined;
  /** True for a compaction that was taken back: where it is on the active path, on that path. */
  isUndone(at: number): boolean;
  /** The whole entry, read anew. */
  entry(at: number): Entry;
}

const none = -1;

/**
 * Builds the tree in time linear in the number of entries, without recursion.
 * @param entries of all branches in file order.
 */
export function sessionTree(session: Session, entries: readonly OutlineEntry[]): SessionTree {
  const index = session.index();
  const positions = new Positions(index, entries);
  const parents = Int32Array.from(entries, ({ number }) => positions.of(index.parent(number)));
  const active = ancestry(parents, session.leafId === null ? none : positions.named(session.leafId));
  const families = new Families(parents, { active, isShown: shownIn(entries, parents) });
  const labels = session.labels();
  const undone = undonePositions(entries, { positions, active });
  return {
    entries,
    roots: families.children(none),
    children: (at) => families.children(at),
    hasChildren: (at) => families.hasChildren(at),
    isActive: (at) => active[at] === 1,
    labelOf: (at) => labels.get(entries[at]!.id),
    isUndone: (at) => undone.has(at),
    entry: (at) => session.entryAt(entries[at]!.number)!,
  };
}

function undonePositions(
  entries: readonly OutlineEntry[],
  { positions, active }: { positions: Positions; active: Uint8Array },
): ReadonlySet<number> {
  const undone = new Set<number>();
  for (const [at, { undoes }] of entries.entries()) {
    const compaction = undoes === undefined ? none : positions.named(undoes);
    // What was taken back on one branch counts on another.
    if (compaction !== none && (active[compaction] === 0 || active[at] === 1)) undone.add(compaction);
  }
  return undone;
}

/** Where the records of an index stand among the entries; four bytes each. */
class Positions {
  readonly #index: EntryIndex;
  readonly #byRecord: Int32Array;

  constructor(index: EntryIndex, entries: readonly OutlineEntry[]) {
    this.#index = index;
    this.#byRecord = new Int32Array(index.count).fill(none);
    for (const [at, { number }] of entries.entries()) this.#byRecord[number] = at;
  }

  /** Of the entry itself or, where it is none of the entries, of the nearest above it. */
  of(record: number): number {
    let at = record;
    while (at >= 0 && this.#byRecord[at] === none) at = this.#index.parent(at);
    return at < 0 ? none : this.#byRecord[at]!;
  }

  named(id: string): number {
    const record = this.#index.find(id);
    return record < 0 ? none : this.#byRecord[record]!;
  }
}

/** Who hangs below whom, the active branch first, then in file order; without an object for each entry. */
class Families {
  /** By position + 1, so that the roots stand at 0. */
  readonly #firstChild: Int32Array;
  readonly #nextSibling: Int32Array;

  constructor(
    parents: Int32Array,
    { active, isShown }: { active: Uint8Array; isShown: (at: number) => boolean },
  ) {
    this.#firstChild = new Int32Array(parents.length + 1).fill(none);
    this.#nextSibling = new Int32Array(parents.length).fill(none);
    for (const isActive of [0, 1])
      for (let at = parents.length - 1; at >= 0; at -= 1)
        if (active[at] === isActive && isShown(at)) this.#putFirst(at, parents[at]!);
  }

  children(at: number): number[] {
    const children: number[] = [];
    for (let child = this.#firstChild[at + 1]!; child !== none; child = this.#nextSibling[child]!)
      children.push(child);
    return children;
  }

  hasChildren(at: number): boolean {
    return this.#firstChild[at + 1] !== none;
  }

  #putFirst(at: number, parent: number): void {
    this.#nextSibling[at] = this.#firstChild[parent + 1]!;
    this.#firstChild[parent + 1] = at;
  }
}

/** The number of ends that the tree has: one for a session without branches. */
export function branchCount(tree: SessionTree): number {
  let ends = 0;
  for (const [at, { isLeafRecord }] of tree.entries.entries())
    if (!isLeafRecord && !tree.hasChildren(at)) ends += 1;
  return ends;
}

/** 1 at a position and at all above it. */
function ancestry(parents: Int32Array, from: number): Uint8Array {
  const found = new Uint8Array(parents.length);
  for (let at = from; at !== none; at = parents[at]!) found[at] = 1;
  return found;
}

function shownIn(entries: readonly OutlineEntry[], parents: Int32Array): (at: number) => boolean {
  const hasChild = new Uint8Array(entries.length);
  for (const parent of parents) if (parent !== none) hasChild[parent] = 1;
  return (at) => hasChild[at] === 1 || !entries[at]!.isLeafRecord;
}

/** An entry without its body: enough for a tree, and light enough for a hundred thousand of them. */
export interface OutlineEntry {
  /** Its record in the session's index. */
  readonly number: number;
  readonly id: string;
  readonly parentId: string | null;
  readonly type: Entry["type"];
  /** The word for it in a column. */
  readonly kind: string;
  /** True for the record of a moved leaf. */
  readonly isLeafRecord: boolean;
  /** Id of the compaction that it takes back. */
  readonly undoes?: string;
}

/** All entries in file order, without their bodies. */
export function sessionOutline(session: Session): OutlineEntry[] {
  const outline: OutlineEntry[] = [];
  for (const { entry, number } of session.scan()) outline.push(outlineEntry(entry, number));
  return outline;
}

export function outlineEntry(entry: Entry, number: number): OutlineEntry {
  const { id, parentId, type } = entry;
  const isLeafRecord = isLeafMark(entry);
  const undoes = undoneBy(entry);
  return {
    number,
    id,
    parentId,
    type,
    kind: kindOf(entry),
    isLeafRecord,
    ...(undoes === undefined ? {} : { undoes }),
  };
}

function isLeafMark(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === LEAF_CUSTOM_TYPE;
}

/** Counts the ends of a tree, two bytes an entry: as `branchCount` of its `sessionTree`, which need not be made for it. */
export class BranchEnds {
  readonly #index: EntryIndex;
  readonly #isLeafMark: Uint8Array;
  readonly #isEntry: Uint8Array;

  constructor(index: EntryIndex) {
    this.#index = index;
    this.#isLeafMark = new Uint8Array(index.count);
    this.#isEntry = new Uint8Array(index.count);
  }

  add(entry: Entry, number: number): void {
    this.#isEntry[number] = 1;
    if (isLeafMark(entry)) this.#isLeafMark[number] = 1;
  }

  /** Records of a moved leaf that nothing hangs on are no ends, nor do they make their parents others. */
  count(): number {
    const hasChild = this.#parentsOf(() => true);
    const hasShownChild = this.#parentsOf((at) => hasChild[at] === 1 || this.#isLeafMark[at] === 0);
    return this.#isEntry.reduce(
      (ends, isEntry, at) =>
        ends + (isEntry === 1 && hasShownChild[at] === 0 && this.#isLeafMark[at] === 0 ? 1 : 0),
      0,
    );
  }

  #parentsOf(counts: (at: number) => boolean): Uint8Array {
    const parents = new Uint8Array(this.#isEntry.length);
    this.#isEntry.forEach((isEntry, at) => {
      const parent = isEntry === 1 && counts(at) ? this.#index.parent(at) : -1;
      if (parent >= 0) parents[parent] = 1;
    });
    return parents;
  }
}

/** One row of `bonsai tree --json`, in file order. */
export interface TreeRow {
  id: string;
  parentId: string | null;
  type: string;
  /** Of a message. */
  role?: string;
  preview: string;
  label?: string;
  /** True on the path from a root to the current position. */
  active: boolean;
}

/** All entries of all branches, a row at a time. */
export function* treeRows(tree: SessionTree): Generator<TreeRow> {
  for (const at of tree.entries.keys()) yield treeRow(tree, at);
}

function treeRow(tree: SessionTree, at: number): TreeRow {
  const entry = tree.entry(at);
  const role = roleOf(entry);
  const label = tree.labelOf(at);
  return {
    id: entry.id,
    parentId: entry.parentId,
    type: entry.type,
    ...(role === undefined ? {} : { role }),
    preview: previewOf(entry).slice(0, 200),
    ...(label === undefined ? {} : { label }),
    active: tree.isActive(at),
  };
}

function roleOf(entry: Entry): string | undefined {
  return entry.type === "message" && typeof entry.message?.role === "string" ? entry.message.role : undefined;
}
