import { isUtf8 } from "node:buffer";
import { resolve } from "node:path";
import { type CompactionEntry, type Entry, SESSION_VERSION } from "../entry.ts";
import { LEAF_RECORD, leafAfter, UndoneCompactions } from "../own-entries.ts";
import { parseBytes } from "../read/entry-head.ts";
import { EntryIndex } from "../read/entry-index.ts";
import { firstWholeEntry } from "../read/glued-entries.ts";
import { readHeader } from "../read/session-header.ts";
import { entryFrom, entryLine } from "../read/sound-entry.ts";
import { withoutAncestor } from "../read/tree.ts";
import { JsonlStore } from "../store/jsonl-store.ts";
import { readBytes } from "../store/line-reader.ts";
import { LineWriter } from "../store/line-writer.ts";
import { writeNewFile } from "../store/new-file.ts";
import type { SessionStore } from "../store/store.ts";

/**
 * Writes a copy of a damaged session file, without the damage and of today's version. Sound lines are copied byte for
 * byte. The model sees the same of the copy as of the original, which stays as it is.
 * @param out path of the copy
 * @throws BonsaiError `session_not_found`, `session_empty`, `not_a_session`, `session_exists`,
 *   `session_not_created`
 */
export function repairSession(file: string, out: string): void {
  const store = JsonlStore.open(file);
  try {
    const { header, version } = readHeader(store);
    const index = new EntryIndex({ store, version });
    index.catchUp();
    writeNewFile(resolve(out), (fd) => {
      const writer = new LineWriter(fd, store);
      writer.write(JSON.stringify({ ...header, version: Math.max(version, SESSION_VERSION) }));
      new RepairedEntries({ store, index, version }).write(writer);
      writer.end();
    });
  } finally {
    store.close();
  }
}

const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d];

/** The entries of a damaged file as a sound file has them: ids used once, parents before their children. */
class RepairedEntries {
  readonly #store: SessionStore;
  readonly #index: EntryIndex;
  readonly #version: number;
  readonly #written: Uint8Array;
  /** The compactions whose first kept entry is not before them. */
  #lacking: ReadonlySet<number> = new Set();
  /** The id of the first kept entry, by written compaction. */
  readonly #firstKept = new Map<number, string>();
  /** The last of the file's order among those written, and the last one written. */
  #newest = -1;
  #last = -1;
  #leafId: string | null = null;

  constructor(damaged: { store: SessionStore; index: EntryIndex; version: number }) {
    this.#store = damaged.store;
    this.#index = damaged.index;
    this.#version = damaged.version;
    this.#written = new Uint8Array(damaged.index.count);
  }

  /** Writes all of them; the leaf stays what it was. */
  write(writer: LineWriter): void {
    const { count } = this.#index;
    // Find lost bodies first: their children get the grandparent.
    for (let number = 0; number < count; number++) if (this.#isLost(number)) this.#index.markDamaged(number);
    this.#lacking = new Set(this.#lackingCompactions());
    for (let number = 0; number < count; number++) this.#writeWithParents(number, writer);
    // A parent that stood after its child stands before it now: then the last entry is another one.
    if (this.#last !== this.#newest) writer.write(JSON.stringify(this.#leafMarker()));
  }

  #lackingCompactions(): Iterable<number> {
    const kept = new Map<number, string>();
    for (const number of this.#index.numbersOf("compaction")) {
      const entry = this.#placed(wholeValue(this.#bytes(number)), number);
      if (entry.type === "compaction") kept.set(number, entry.firstKeptEntryId);
    }
    return withoutAncestor(this.#index, kept);
  }

  #isLost(number: number): boolean {
    return !this.#index.isDamaged(number) && !isObject(wholeValue(this.#bytes(number)));
  }

  #writeWithParents(number: number, writer: LineWriter): void {
    const chain: number[] = [];
    for (let at = number; at >= 0 && this.#written[at] === 0; at = this.#index.parent(at)) chain.push(at);
    for (const each of chain.reverse()) this.#writeOne(each, writer);
  }

  #writeOne(number: number, writer: LineWriter): void {
    this.#written[number] = 1;
    if (this.#index.isDamaged(number)) return;
    const bytes = this.#bytes(number);
    const value = wholeValue(bytes);
    const odd: string[] = [];
    const entry = this.#placed(value, number, odd);
    const mended = entry.type === "compaction" ? this.#mendedCompaction(entry, number) : entry;
    const isSame = mended === value && odd.length === 0;
    if (this.#version >= SESSION_VERSION && isSame && isSound(bytes)) writer.copy(this.#index.record(number));
    else writer.write(entryLine(mended));
    this.#note(mended, number);
  }

  #note(entry: Entry, number: number): void {
    this.#last = number;
    if (number < this.#newest) return;
    this.#newest = number;
    this.#leafId = leafAfter(entry);
  }

  /** The entry with the id and parent that it has in the copy. */
  #placed(value: unknown, number: number, odd?: string[]): Entry {
    const parent = this.#index.parent(number);
    const parentId = parent < 0 ? null : this.#id(parent);
    return entryFrom(value, { id: this.#id(number), parentId, version: this.#version }, odd)!;
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

  #mendedCompaction(entry: CompactionEntry, number: number): Entry {
    const named = entry.firstKeptEntryId;
    const kept = this.#lacking.has(number) ? this.#keptBefore(number) : this.#ownId(named, number);
    this.#firstKept.set(number, kept);
    return kept === named ? entry : { ...entry, firstKeptEntryId: kept };
  }

  /** The first kept entry of a compaction that names no earlier entry: that of the previous compaction, or the root. */
  #keptBefore(number: number): string {
    const undone = new UndoneCompactions();
    let root = number;
    for (let at = this.#index.parent(number); at >= 0; at = this.#index.parent(at)) {
      root = at;
      if (this.#index.type(at) === "custom") undone.addOlder(this.#placed(wholeValue(this.#bytes(at)), at));
      const kept = this.#firstKept.get(at);
      if (kept !== undefined && !undone.has(this.#id(at))) return kept;
    }
    return this.#id(root);
  }

  /** The id in the copy of the nearest ancestor that has this id in the original. */
  #ownId(id: string, number: number): string {
    if (this.#index.earlierOfSameId(this.#index.find(id)) < 0) return id;
    let at = number;
    while (at >= 0 && this.#index.id(at) !== id) at = this.#index.parent(at);
    return at < 0 ? id : this.#id(at);
  }

  #leafMarker(): Entry {
    const id = `${this.#leafId}-leaf`;
    const timestamp = new Date().toISOString();
    return { ...LEAF_RECORD, id, parentId: this.#leafId, timestamp };
  }
}

function wholeValue(bytes: Buffer): unknown {
  return parseBytes(bytes) ?? firstWholeEntry(bytes);
}

/** Whether a line can be copied as it is. */
function isSound(bytes: Buffer): boolean {
  return (
    bytes[0] === OPEN_BRACE &&
    bytes.at(-1) === CLOSE_BRACE &&
    isUtf8(bytes) &&
    parseBytes(bytes) !== undefined
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
