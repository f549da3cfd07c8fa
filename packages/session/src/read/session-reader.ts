import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import type { Entry } from "../entry.ts";
import { leafAfter } from "../own-entries.ts";
import { LineWindow, readBytes } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";
import { parseBytes } from "./entry-head.ts";
import { EntryIndex } from "./entry-index.ts";
import { firstWholeEntry } from "./glued-entries.ts";
import { entryFrom } from "./sound-entry.ts";
import { emptyTail, type PathSettings, SettingsFinder, type Tail, TailReader } from "./tail.ts";

/** An entry, and the number of its record in the index. */
export interface ScannedEntry {
  readonly entry: Entry;
  readonly number: number;
}

const FIRST_SWEEP_ENTRIES = 4096;
/** Instead of a record's number: no record; the place before the first entry. */
const ABSENT = -1;
const ROOT = -2;

/** Reads one stored session: its end from the end, all else through the index, which the first use makes. */
export class SessionReader {
  readonly store: SessionStore;
  /** 1, 2 or 3. */
  readonly version: number;
  #index: EntryIndex | undefined;
  /** By record: entries that a caller asked for by id, so that it gets the same object while it keeps the first one. */
  readonly #entries = new Map<number, WeakRef<Entry>>();
  #sweepAt = FIRST_SWEEP_ENTRIES;

  constructor(options: { store: SessionStore; version: number }) {
    this.store = options.store;
    this.version = options.version;
  }

  /** The index, with all stored entries. */
  index(): EntryIndex {
    if (this.#index?.catchUp() === true) return this.#index;
    this.forget();
    this.#index = new EntryIndex({ store: this.store, version: this.version });
    this.#index.catchUp();
    return this.#index;
  }

  /** Drops the index and the entries: the store has other content now. */
  forget(): void {
    this.#index = undefined;
    this.#entries.clear();
  }

  /** The index if it was made before. Entries of later appends may be missing. */
  get madeIndex(): EntryIndex | undefined {
    return this.#index;
  }

  /** The entry of a record; undefined for a damaged body. */
  entryAt(number: number): Entry | undefined {
    const known = this.#entries.get(number)?.deref();
    return known ?? this.parse(number, readBytes(this.store, this.#madeIndex().place(number)));
  }

  /**
   * Parses a record's line. Returns undefined for a damaged body, and marks the record.
   * @param invalidFields gets the names of the fields that had an invalid value
   */
  parse(number: number, line: Buffer, invalidFields?: string[]): Entry | undefined {
    const index = this.#madeIndex();
    if (index.isDamaged(number)) return undefined;
    const value = parseBytes(line) ?? firstWholeEntry(line);
    const entry = entryFrom(value, this.#placeOf(number, value), invalidFields);
    if (entry === undefined) index.markDamaged(number);
    return entry;
  }

  #placeOf(number: number, value: unknown): { id: string; parentId: string | null; version: number } {
    const index = this.#madeIndex();
    const { id, parentId } = isRecord(value) ? value : {};
    // Most lines name their place in the tree: then no new strings are made.
    const place = index.isPlaced(number, id, parentId) ? { id, parentId } : index.record(number);
    return { ...(place as { id: string; parentId: string | null }), version: this.version };
  }

  /** The newest entry with this id. */
  entry(id: string): Entry | undefined {
    return this.#newest(id)?.entry;
  }

  /** Number of the newest undamaged record with this id; -1 for none. */
  find(id: string): number {
    return this.#newest(id)?.number ?? ABSENT;
  }

  #newest(id: string): ScannedEntry | undefined {
    const index = this.index();
    for (let number = index.find(id); number >= 0; number = index.earlierOfSameId(number)) {
      const entry = this.entryAt(number);
      if (entry === undefined) continue;
      if (!index.isOpenLine(number)) this.#remember(number, entry);
      return { entry, number };
    }
    return undefined;
  }

  #remember(number: number, entry: Entry): void {
    if (this.#entries.get(number)?.deref() === entry) return;
    this.#entries.set(number, new WeakRef(entry));
    if (this.#entries.size < this.#sweepAt) return;
    for (const [key, reference] of this.#entries) if (!reference.deref()) this.#entries.delete(key);
    this.#sweepAt = Math.max(FIRST_SWEEP_ENTRIES, 2 * this.#entries.size);
  }

  /** All entries in file order, one after the other, with the numbers of their records. */
  scan(): Generator<ScannedEntry> {
    return this.entriesAt(new Array(this.index().count).keys());
  }

  /** The entries of these records, one after the other, without damaged ones. */
  *entriesAt(numbers: Iterable<number>): Generator<ScannedEntry> {
    const lines = new LineWindow(this.store);
    for (const number of numbers) {
      const entry = this.#entryIn(lines, number);
      if (entry !== undefined) yield { entry, number };
    }
  }

  /**
   * The stored leaf; null before the first entry.
   * @param onPath gets the path to the leaf, if damage outside the path made it necessary to read the whole file
   */
  leaf(onPath?: (path: Tail) => void): string | null {
    const found = this.version === 1 ? undefined : new TailReader(this).readLeaf();
    if (found !== undefined) return found;
    const path = this.wholePath()!;
    onPath?.(path);
    return path.leafId;
  }

  /**
   * The entries from a root to this id, oldest first; undefined if there is no such entry.
   * @param held entries in memory at the end of the path, used instead of their copies in the file
   */
  path(leafId: string, held: readonly Entry[] = []): Entry[] | undefined {
    const leaf = this.find(leafId);
    return leaf < 0 ? undefined : this.#pathTo(leaf, held);
  }

  #pathTo(leaf: number, held: readonly Entry[] = []): Entry[] {
    const index = this.#madeIndex();
    const numbers = index.ancestry(leaf);
    const lines = new LineWindow(this.store);
    const path: Entry[] = [];
    const firstHeld = numbers.length - held.length;
    numbers.forEach((number, at) => {
      const own = held[at - firstHeld];
      const entry = own?.id === index.id(number) ? own : this.#entryIn(lines, number);
      if (entry !== undefined) path.push(entry);
    });
    return relinked(path);
  }

  /** The end of the path to a leaf; undefined if there is no such entry. @param leafId default: as stored. */
  tail(leafId?: string | null, without?: Iterable<string>): Tail | undefined {
    if (leafId === null) return emptyTail();
    if (this.version === 1) return this.wholePath(leafId);
    const { store, version } = this;
    const endOffset = leafId === undefined ? undefined : this.#endOf(leafId);
    return new TailReader({ store, version, leafId, without, endOffset }).read() ?? this.wholePath(leafId);
  }

  /** The end of the newest line with this id, if the index knows it already. */
  #endOf(id: string): number | undefined {
    const number = this.#index === undefined ? -1 : this.index().find(id);
    if (number < 0) return undefined;
    const { offset, lengthBytes } = this.#madeIndex().place(number);
    return Math.min(offset + lengthBytes + 1, this.store.size());
  }

  /** As `tail`, through the index and back to the root. */
  wholePath(leafId?: string): Tail | undefined {
    const leaf = leafId === undefined ? this.#storedLeaf() : this.find(leafId);
    if (leaf === ABSENT) return undefined;
    const entries = this.#pathTo(leaf);
    const view = { leafId: entries.at(-1)?.id ?? null, entries, reachesRoot: true };
    const index = this.index();
    const { damageCount } = index;
    const lacksEntries = index
      .invalidParents()
      .some(({ kind, parentId }) => kind === "missing_parent" && parentId);
    return lacksEntries || damageCount > 0 ? { ...view, damagedLines: damageCount } : view;
  }

  /**
   * The settings of a path. Finds entries older than those in memory in the index, and reads only the relevant ones.
   * @param view the end of the path that is in memory
   */
  settings({ entries, reachesRoot }: { entries: readonly Entry[]; reachesRoot: boolean }): PathSettings {
    const finder = new SettingsFinder();
    for (let at = entries.length - 1; at >= 0 && !finder.done; at -= 1) finder.addOlder(entries[at]!);
    if (finder.done || reachesRoot || entries.length === 0) return finder.found;
    const index = this.index();
    for (let at = this.find(entries[0]!.id); at >= 0 && !finder.done; at = index.parent(at)) {
      const entry = finder.wants(index.type(at)) ? this.entryAt(at) : undefined;
      if (entry !== undefined) finder.addOlder(entry);
    }
    return finder.found;
  }

  #madeIndex(): EntryIndex {
    return this.#index ?? this.index();
  }

  /** As `entryAt` for one of many in a row: fewer reads. */
  #entryIn(lines: LineWindow, number: number): Entry | undefined {
    const known = this.#entries.get(number)?.deref();
    return known ?? this.parse(number, lines.bytes(this.#madeIndex().place(number)));
  }

  /** Number of the record of the stored leaf. */
  #storedLeaf(): number {
    const index = this.index();
    for (let number = index.count - 1; number >= 0; number -= 1) {
      const entry = this.entryAt(number);
      if (entry === undefined) continue;
      const parent = index.parent(number);
      if (leafAfter(entry) === entry.id) return number;
      return parent < 0 ? ROOT : parent;
    }
    return ROOT;
  }
}

/** The labels and the name. The latest entry in file order counts. Each call reads only new entries. */
export class LatestEntries {
  readonly #reader: SessionReader;
  readonly #labels = new Map<string, string>();
  #name: string | undefined;
  #index: EntryIndex | undefined;
  /** Number of the records that were read. */
  #readCount = 0;

  constructor(reader: SessionReader) {
    this.#reader = reader;
  }

  labels(): ReadonlyMap<string, string> {
    this.#readNew();
    return this.#labels;
  }

  name(): string | undefined {
    this.#readNew();
    return this.#name;
  }

  #readNew(): void {
    const index = this.#reader.index();
    if (index !== this.#index) {
      this.#index = index;
      this.#labels.clear();
      this.#name = undefined;
      this.#readCount = 0;
    }
    const numbers = ["label", "session_info"].flatMap((type) => index.numbersOf(type, this.#readCount));
    this.#readCount = index.settledCount;
    for (const { entry } of this.#reader.entriesAt(numbers)) {
      if (entry.type === "session_info") this.#name = entry.name || undefined;
      else if (entry.type === "label" && entry.label) this.#labels.set(entry.targetId, entry.label);
      else if (entry.type === "label") this.#labels.delete(entry.targetId);
    }
  }
}

/** Links the children of lost bodies to the entries before. */
function relinked(path: Entry[]): Entry[] {
  path.forEach((entry, at) => {
    const parentId = path[at - 1]?.id ?? null;
    if (entry.parentId !== parentId) entry.parentId = parentId;
  });
  return path;
}

export function entryNotFound(id: string | null): never {
  throw new BonsaiError({
    code: "entry_not_found",
    message: `This session has no entry ${id}.`,
    hint: "Run `bonsai session tree FILE` to list the ids.",
  });
}
