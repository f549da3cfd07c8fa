import { isUtf8 } from "node:buffer";
import { type CompactionEntry, type Entry, LEAF_CUSTOM_TYPE, SESSION_VERSION } from "./entry.ts";
import { entryFrom } from "./entry-body.ts";
import { parseBytes } from "./entry-head.ts";
import type { EntryIndex } from "./entry-index.ts";
import { readBytes } from "./line-reader.ts";
import type { LineWriter } from "./line-writer.ts";
import { project } from "./projection.ts";
import type { SessionStore } from "./session-store.ts";
import { leafAfter } from "./tail.ts";

/** `customType` of an entry that stands where one stood that lost what it was. */
const LOST_CUSTOM_TYPE = "bonsai.lost";

const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d];

/** The entries of a damaged file as a sound file has them: ids used once, parents before their children. */
export class RepairedEntries {
  readonly #store: SessionStore;
  readonly #index: EntryIndex;
  readonly #version: number;
  readonly #written = new Set<number>();
  /** The last of the file's order among those written, and the last one written. */
  #newest = -1;
  #last = -1;
  #leafId: string | null = null;

  constructor(damaged: { store: SessionStore; index: EntryIndex; version: number }) {
    this.#store = damaged.store;
    this.#index = damaged.index;
    this.#version = damaged.version;
  }

  /** Writes all of them; the leaf stays what it was. */
  write(writer: LineWriter): void {
    const { count } = this.#index;
    // Whose body is lost must be known before its children are written: they hang on its parent then.
    for (let number = 0; number < count; number++) if (this.#isLost(number)) this.#index.markDamaged(number);
    for (let number = 0; number < count; number++) this.#writeWithParents(number, writer);
    // A parent that stood after its child stands before it now: then the last entry is another one.
    if (this.#last !== this.#newest) writer.write(JSON.stringify(this.#leafMarker()));
  }

  #isLost(number: number): boolean {
    return !this.#index.isDamaged(number) && !isObject(parseBytes(this.#bytes(number)));
  }

  #writeWithParents(number: number, writer: LineWriter): void {
    const chain: number[] = [];
    for (let at = number; at >= 0 && !this.#written.has(at); at = this.#index.parent(at)) chain.push(at);
    for (const each of chain.reverse()) this.#writeOne(each, writer);
  }

  #writeOne(number: number, writer: LineWriter): void {
    this.#written.add(number);
    if (this.#index.isDamaged(number)) return;
    const bytes = this.#bytes(number);
    const value = parseBytes(bytes);
    const entry = this.#placed(value, number);
    const mended = this.#mended(entry, number);
    const isStoredAsIs = this.#version >= SESSION_VERSION && mended === value && isSound(bytes);
    if (isStoredAsIs) writer.copy(this.#index.record(number));
    else writer.write(JSON.stringify(mended));
    this.#note(mended, number);
  }

  #note(entry: Entry, number: number): void {
    this.#last = number;
    if (number < this.#newest) return;
    this.#newest = number;
    this.#leafId = leafAfter(entry);
  }

  /** The entry with the id and parent that it has in the copy. */
  #placed(value: unknown, number: number): Entry {
    const parent = this.#index.parent(number);
    const parentId = parent < 0 ? null : this.#id(parent);
    return entryFrom(value, { id: this.#id(number), parentId, version: this.#version })!;
  }

  /** An id that was used before becomes a longer one of its own. */
  #id(number: number): string {
    const { id, line } = this.#index.record(number);
    if (this.#index.earlierOfSameId(number) < 0) return id;
    let own = `${id}-${line}`;
    while (this.#index.find(own) >= 0) own += "x";
    return own;
  }

  #bytes(number: number): Buffer {
    return readBytes(this.#store, this.#index.record(number));
  }

  #mended(entry: Entry, number: number): Entry {
    if (entry.type === "message" && !isObject(entry.message)) return lost(entry);
    if (entry.type !== "compaction") return entry;
    return typeof entry.summary === "string" ? this.#mendedCompaction(entry, number) : lost(entry);
  }

  /** A compaction that names no entry before it names the first that is seen of it. */
  #mendedCompaction(entry: CompactionEntry, number: number): Entry {
    const numbers = this.#index.ancestry(number);
    const isKnown = numbers.some((each) => this.#id(each) === entry.firstKeptEntryId);
    if (isKnown) return entry;
    const path = numbers.map((each) => this.#placed(parseBytes(this.#bytes(each)), each));
    const firstKept = project(path).items[1];
    return { ...entry, firstKeptEntryId: firstKept?.entryId ?? entry.id };
  }

  #leafMarker(): Entry {
    const id = `${this.#leafId}-leaf`;
    const timestamp = new Date().toISOString();
    return { type: "custom", customType: LEAF_CUSTOM_TYPE, id, parentId: this.#leafId, timestamp };
  }
}

/** Whether a line can be copied as it is. */
function isSound(bytes: Buffer): boolean {
  return bytes[0] === OPEN_BRACE && bytes.at(-1) === CLOSE_BRACE && isUtf8(bytes);
}

/** Keeps what is left of an entry, and its place in the tree. */
function lost(entry: Entry): Entry {
  const { id, parentId, timestamp, ...data } = entry;
  return { type: "custom", customType: LOST_CUSTOM_TYPE, id, parentId, timestamp, data };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
