import type { Entry } from "./entry.ts";
import { entryFrom } from "./entry-body.ts";
import { parseBytes } from "./entry-head.ts";
import { EntryIndex } from "./entry-index.ts";
import { readBytes } from "./line-reader.ts";
import type { SessionStore } from "./session-store.ts";
import { leafAfter, readTail, type Tail } from "./tail.ts";

const FIRST_SWEEP_ENTRIES = 4096;

/**
 * Reads one stored session: its end from the end, all else through the index, which is made when somebody
 * asks for the first time. Owner of the index and of the parsed entries in memory, which it lets go of when
 * nobody else holds them.
 */
export class SessionReader {
  readonly store: SessionStore;
  /** 1, 2 or 3. */
  readonly version: number;
  #index: EntryIndex | undefined;
  readonly #entries = new Map<number, WeakRef<Entry>>();
  #sweepAt = FIRST_SWEEP_ENTRIES;

  constructor(options: { store: SessionStore; version: number }) {
    this.store = options.store;
    this.version = options.version;
  }

  /** The index, with all that was stored until now. */
  index(): EntryIndex {
    this.#index ??= new EntryIndex({ store: this.store, version: this.version });
    if (this.#index.catchUp() === "anew") this.#entries.clear();
    return this.#index;
  }

  /** The index if it was made before, as it was then. */
  get madeIndex(): EntryIndex | undefined {
    return this.#index;
  }

  /** The entry of a record; undefined when its body turns out to be damaged. */
  entryAt(number: number): Entry | undefined {
    const index = this.#index ?? this.index();
    if (index.isDamaged(number)) return undefined;
    const known = this.#entries.get(number)?.deref();
    if (known !== undefined) return known;
    const record = index.record(number);
    const value = parseBytes(readBytes(this.store, record));
    const entry = entryFrom(value, { ...record, version: this.version });
    if (entry === undefined) index.markDamaged(number);
    else this.#remember(number, entry);
    return entry;
  }

  /** The newest entry with this id. */
  entry(id: string): Entry | undefined {
    const number = this.index().find(id);
    return number < 0 ? undefined : this.entryAt(number);
  }

  /** All entries in file order. */
  entries(): Entry[] {
    const { count } = this.index();
    const entries: Entry[] = [];
    for (let number = 0; number < count; number += 1) {
      const entry = this.entryAt(number);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  /**
   * The entries from a root to this id, oldest first; undefined when there is no such entry.
   * @param held entries in memory that end the path: they stand for their own copies.
   */
  path(leafId: string, held: readonly Entry[] = []): Entry[] | undefined {
    const index = this.index();
    const leaf = index.find(leafId);
    if (leaf < 0 || this.entryAt(leaf) === undefined) return undefined;
    const numbers = index.ancestry(leaf);
    const path: Entry[] = [];
    const firstHeld = numbers.length - held.length;
    numbers.forEach((number, at) => {
      const own = held[at - firstHeld];
      const entry = own?.id === index.id(number) ? own : this.entryAt(number);
      if (entry !== undefined) path.push(entry);
    });
    return relinked(path);
  }

  /** The end of the path to a leaf; undefined when there is no such entry. @param leafId default: as stored. */
  tail(leafId?: string | null): Tail | undefined {
    const tail = readTail({ ...this, ...(leafId !== undefined && { leafId }) });
    if (tail !== undefined) return tail;
    const leaf = leafId ?? this.#storedLeafId();
    const entries = leaf === null ? [] : this.path(leaf);
    return entries && { leafId: leaf, entries, reachesRoot: true };
  }

  #storedLeafId(): string | null {
    for (let number = this.index().count - 1; number >= 0; number -= 1) {
      const entry = this.entryAt(number);
      if (entry !== undefined) return leafAfter(entry);
    }
    return null;
  }

  #remember(number: number, entry: Entry): void {
    this.#entries.set(number, new WeakRef(entry));
    if (this.#entries.size < this.#sweepAt) return;
    for (const [key, reference] of this.#entries) if (!reference.deref()) this.#entries.delete(key);
    this.#sweepAt = Math.max(FIRST_SWEEP_ENTRIES, 2 * this.#entries.size);
  }
}

/** Where a body on the way turned out to be lost, its child hangs on what comes before. */
function relinked(path: Entry[]): Entry[] {
  path.forEach((entry, at) => {
    const parentId = path[at - 1]?.id ?? null;
    if (entry.parentId !== parentId) entry.parentId = parentId;
  });
  return path;
}
