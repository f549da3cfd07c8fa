import { customTypes, type Entry, type EntryType } from "../entry.ts";
import { entryKind, kindWord, messageRole } from "../entry-types.ts";
import { compactionChange, isLeafRecord } from "../own-entries.ts";
import type { EntryIndex, RecordKind } from "./entry-index.ts";
import type { SessionReader } from "./session-reader.ts";

/** An entry without its body: enough for a tree, and light enough for a hundred thousand of them. */
export interface TreeEntry extends RecordKind {
  /** Its record in the session's index. */
  readonly number: number;
  readonly id: string;
  readonly parentId: string | null;
}

const NONE = -1;

/**
 * A session's entries as a tree of positions in file order; children and roots come with the active branch first. It is
 * built in time linear in the number of entries, without recursion, and parses few of them.
 */
export class SessionTree {
  readonly #reader: SessionReader;
  readonly #index: EntryIndex;
  readonly #labels: ReadonlyMap<string, string>;
  /** By position: the number of the record, and what kind of entry it is. */
  readonly #numbers: number[] = [];
  readonly #kinds: RecordKind[] = [];
  /** By record: its position; four bytes each. */
  readonly #positions: Int32Array;
  readonly #parents: Int32Array;
  readonly #active: Uint8Array;
  readonly #links: ChildLinks;
  readonly #undone = new Set<number>();
  #replaced: ReadonlySet<number> | undefined;
  #entries: readonly TreeEntry[] | undefined;

  /** @param isParsed true to read every entry, so that one whose body turns out to be damaged is left out. */
  constructor(options: {
    reader: SessionReader;
    leafId: string | null;
    labels: ReadonlyMap<string, string>;
    isParsed: boolean;
  }) {
    const { reader, leafId, labels, isParsed } = options;
    this.#reader = reader;
    this.#index = reader.index();
    this.#labels = labels;
    // Parsing marks records with a damaged body.
    if (isParsed) for (const _ of reader.scan());
    for (const [number, kind] of recordKinds(reader)) {
      this.#numbers.push(number);
      this.#kinds.push(kind);
    }
    this.#positions = new Int32Array(this.#index.count).fill(NONE);
    this.#numbers.forEach((number, at) => {
      this.#positions[number] = at;
    });
    this.#parents = new Int32Array(this.#numbers.map((number) => this.#parentOf(number)));
    this.#active = this.#ancestry(leafId === null ? NONE : this.#positionOf(leafId));
    this.#links = this.#childLinks();
    this.#findUndone();
  }

  /** All entries of all branches, in file order. */
  get entries(): readonly TreeEntry[] {
    if (this.#entries === undefined) {
      const ids = this.#numbers.map((number) => this.#index.id(number));
      this.#entries = this.#numbers.map((number, at) => {
        const parent = this.#parents[at]!;
        return { number, id: ids[at]!, parentId: parent === NONE ? null : ids[parent]!, ...this.#kinds[at]! };
      });
    }
    return this.#entries;
  }

  get roots(): readonly number[] {
    return [...this.#links.children(NONE)];
  }

  /** The shown children: all except records of a moved leaf without a child. */
  children(at: number): readonly number[] {
    return [...this.#links.children(at)];
  }

  /** The position of its parent; -1 for a root. */
  parent(at: number): number {
    return this.#parents[at]!;
  }

  /** True if `children` has any. */
  hasChildren(at: number): boolean {
    return this.#links.firstChild(at) !== NONE;
  }

  /** True on the path from a root to the current position. */
  isActive(at: number): boolean {
    return this.#active[at] === 1;
  }

  labelOf(at: number): string | undefined {
    return this.#labels.get(this.#index.id(this.#numbers[at]!));
  }

  /** True for an undone compaction. On the active path, only an undo of that path counts. */
  isUndone(at: number): boolean {
    return this.#undone.has(at);
  }

  /** True for a compaction with a replacement that is not undone. On the active path, only a replacement there counts. */
  isReplaced(at: number): boolean {
    this.#replaced ??= this.#findReplaced();
    return this.#replaced.has(at);
  }

  /** The whole entry, read from the store; undefined if its body is damaged. */
  entry(at: number): Entry | undefined {
    return this.#reader.entryAt(this.#numbers[at]!);
  }

  /** Number of ends of branches: one for a session without branches. */
  get branchCount(): number {
    return countBranches(this.#reader);
  }

  /** Number of entries that are not shown: records of a moved leaf without a child. */
  get unshownCount(): number {
    return this.#kinds.filter((kind, at) => kind.isLeafRecord && !this.hasChildren(at)).length;
  }

  /** The position of the nearest record above that is in the tree. */
  #parentOf(number: number): number {
    let at = this.#index.parent(number);
    while (at >= 0 && this.#positions[at] === NONE) at = this.#index.parent(at);
    return at < 0 ? NONE : this.#positions[at]!;
  }

  #positionOf(id: string): number {
    const record = this.#index.find(id);
    return record < 0 ? NONE : this.#positions[record]!;
  }

  /** 1 at a position and at all above it. */
  #ancestry(from: number): Uint8Array {
    const found = new Uint8Array(this.#parents.length);
    for (let at = from; at !== NONE; at = this.#parents[at]!) found[at] = 1;
    return found;
  }

  #childLinks(): ChildLinks {
    const hasChild = new Uint8Array(this.#parents.length);
    for (const parent of this.#parents) if (parent !== NONE) hasChild[parent] = 1;
    const links = new ChildLinks(this.#parents.length);
    // The active branch is put in front last.
    for (const isActive of [0, 1])
      for (let at = this.#parents.length - 1; at >= 0; at -= 1) {
        const isShown = hasChild[at] === 1 || !this.#kinds[at]!.isLeafRecord;
        if (this.#active[at] === isActive && isShown) links.putFirst(at, this.#parents[at]!);
      }
    return links;
  }

  #findReplaced(): ReadonlySet<number> {
    const replaced = new Set<number>();
    for (const [at, { type }] of this.#kinds.entries()) {
      const entry = type === "compaction" && !this.#undone.has(at) ? this.entry(at) : undefined;
      const former = entry?.type === "compaction" ? this.#positionOf(entry.replacesCompactionId ?? "") : NONE;
      if (former !== NONE && !(this.#active[former] === 1 && this.#active[at] === 0)) replaced.add(former);
    }
    return replaced;
  }

  #findUndone(): void {
    this.#kinds.forEach(({ change }, at) => {
      const compaction = change === undefined ? NONE : this.#positionOf(change.compactionId);
      // A compaction that is undone on one branch counts on another.
      if (compaction === NONE || (this.#active[compaction] === 1 && this.#active[at] === 0)) return;
      if (change?.isUndone) this.#undone.add(compaction);
      else this.#undone.delete(compaction);
    });
  }
}

/** Links from parents to children, without an object for each. */
class ChildLinks {
  /** By parent + 1, so that the roots stand at 0. */
  readonly #firstChild: Int32Array;
  readonly #nextSibling: Int32Array;

  constructor(count: number) {
    this.#firstChild = new Int32Array(count + 1).fill(NONE);
    this.#nextSibling = new Int32Array(count).fill(NONE);
  }

  /** @param parent -1 for a root. */
  putFirst(child: number, parent: number): void {
    this.#nextSibling[child] = this.#firstChild[parent + 1]!;
    this.#firstChild[parent + 1] = child;
  }

  /** -1 for none. */
  firstChild(parent: number): number {
    return this.#firstChild[parent + 1]!;
  }

  *children(parent: number): Generator<number> {
    for (let child = this.firstChild(parent); child !== NONE; child = this.#nextSibling[child]!) yield child;
  }

  /** Removes the first child, so that the next one is the first. @returns the removed one; -1 for none */
  takeFirst(parent: number): number {
    const child = this.firstChild(parent);
    this.#firstChild[parent + 1] = this.#nextSibling[child] ?? NONE;
    return child;
  }
}

/** The kind of each undamaged record, by its number. Reads only the few entries whose head does not tell it, once. */
export function* recordKinds(reader: SessionReader): Generator<[number: number, kind: RecordKind]> {
  const index = reader.index();
  for (let number = 0; number < index.count; number += 1) {
    if (index.isDamaged(number)) continue;
    let kind = index.kind(number) ?? kindByHead(index.type(number), index.detail(number));
    if (kind === undefined) {
      kind = parsedKind(reader.entryAt(number));
      if (kind !== undefined) index.learn(number, kind);
    }
    if (kind !== undefined) yield [number, kind];
  }
}

/** Reads one session: the session itself, or its reader. */
type EntrySource = Pick<SessionReader, "index" | "entryAt">;

/**
 * Number of ends of branches: one for a session without branches. A moved leaf without a child is no end. Builds no tree,
 * which takes more time and memory.
 */
export function countBranches(session: EntrySource): number {
  const index = session.index();
  const moves = new Set(index.numbersOf("custom").filter((number) => isMove(session, index, number)));
  const parentsOf = (isChild: (number: number) => boolean): Uint8Array => {
    const parents = new Uint8Array(index.count);
    for (let number = 0; number < index.count; number += 1) {
      const parent = index.isDamaged(number) || !isChild(number) ? NONE : index.parent(number);
      if (parent !== NONE) parents[parent] = 1;
    }
    return parents;
  };
  const hasChild = parentsOf(() => true);
  const hasShownChild = parentsOf((number) => !moves.has(number) || hasChild[number] === 1);
  return hasShownChild.reduce((ends, hasOne, number) => {
    return hasOne === 1 || index.isDamaged(number) || moves.has(number) ? ends : ends + 1;
  }, 0);
}

/** True for the record of a moved leaf. Reads the entry if its head does not tell. */
function isMove(session: EntrySource, index: EntryIndex, number: number): boolean {
  const detail = index.detail(number);
  if (detail !== undefined) return detail === customTypes.leaf;
  const entry = session.entryAt(number);
  return entry !== undefined && isLeafRecord(entry);
}

/** Undefined where only the body tells. */
function kindByHead(type: string, detail: string | undefined): RecordKind | undefined {
  if (detail === undefined) return undefined;
  if (type === "message" && messageRole(detail) !== undefined) return sharedKind(type, kindWord(detail));
  if (type !== "custom" || detail === customTypes.undo || detail === customTypes.redo) return undefined;
  const kind = detail.startsWith("bonsai.") ? "note" : kindWord(type);
  return sharedKind(type, kind, { isLeafRecord: detail === customTypes.leaf });
}

function parsedKind(entry: Entry | undefined): RecordKind | undefined {
  if (entry === undefined) return undefined;
  const kind = sharedKind(entry.type, entryKind(entry), {
    isLeafRecord: isLeafRecord(entry),
    isForModelOnly: entry.type === "custom_message" && entry.display === false,
  });
  const change = compactionChange(entry);
  return change === undefined ? kind : { ...kind, change };
}

/** There are a dozen kinds. A damaged file can have any number. */
const MAX_SHARED_WORDS = 100;
/** Kinds by their word. */
const shared = new Map<string, RecordKind[]>();

/** Returns the same object for the same words. */
function sharedKind(
  type: string,
  kind: string,
  { isLeafRecord = false, isForModelOnly = false } = {},
): RecordKind {
  const alike = shared.get(kind) ?? [];
  const known = alike.find(
    (each) =>
      each.type === type && each.isLeafRecord === isLeafRecord && each.isForModelOnly === isForModelOnly,
  );
  if (known !== undefined) return known;
  const added = { type: type as EntryType, kind, isLeafRecord, isForModelOnly };
  if (shared.size < MAX_SHARED_WORDS) shared.set(kind, [...alike, added]);
  return added;
}

/**
 * Returns the named records that neither have their id nor descend from an entry that has it. One walk through the whole
 * tree: a walk for each record would take hours in a hostile file.
 */
export function withoutAncestor(index: EntryIndex, named: ReadonlyMap<number, string>): number[] {
  if (named.size === 0) return [];
  /** The wanted id of each record that has one. */
  const wanted = new Map<number, string>();
  for (const id of new Set(named.values()))
    for (let at = index.find(id); at >= 0; at = index.earlierOfSameId(at)) wanted.set(at, id);
  /** How many entries on the current path have the id. */
  const onPath = new Map<string, number>();
  const count = (number: number, change: number) => {
    const id = wanted.get(number);
    if (id !== undefined) onPath.set(id, (onPath.get(id) ?? 0) + change);
  };
  const lacking: number[] = [];
  walk(index, {
    enter: (number) => {
      count(number, 1);
      const id = named.get(number);
      if (id !== undefined && !onPath.get(id)) lacking.push(number);
    },
    leave: (number) => count(number, -1),
  });
  return lacking.sort((one, other) => one - other);
}

/** Walks the undamaged records from the roots, depth first. */
function walk(
  index: EntryIndex,
  visitor: { enter: (number: number) => void; leave: (number: number) => void },
): void {
  const links = new ChildLinks(index.count);
  for (let number = index.count - 1; number >= 0; number -= 1)
    if (!index.isDamaged(number)) links.putFirst(number, index.parent(number));
  for (let at = NONE; ; ) {
    const child = links.takeFirst(at);
    if (child === NONE && at === NONE) return;
    if (child === NONE) visitor.leave(at);
    else visitor.enter(child);
    at = child === NONE ? index.parent(at) : child;
  }
}
