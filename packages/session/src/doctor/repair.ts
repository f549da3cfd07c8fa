import { isUtf8 } from "node:buffer";
import { resolve } from "node:path";
import { type CompactionEntry, type Entry, SESSION_VERSION } from "../entry.ts";
import { LEAF_RECORD, leafAfter, UndoneCompactions } from "../own-entries.ts";
import { parseBytes } from "../read/entry-head.ts";
import type { EntryIndex } from "../read/entry-index.ts";
import { firstWholeEntry } from "../read/glued-entries.ts";
import { readHeader } from "../read/session-header.ts";
import { SessionReader } from "../read/session-reader.ts";
import { entryFrom, entryLine } from "../read/sound-entry.ts";
import { JsonlStore } from "../store/jsonl-store.ts";
import { readBytes } from "../store/line-reader.ts";
import { LineWriter, writeNewFile } from "../store/new-file.ts";
import { compactionsWithoutKept } from "./problems.ts";

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
    writeNewFile(resolve(out), (fd) => {
      const writer = new LineWriter(fd, store);
      writer.write(JSON.stringify({ ...header, version: Math.max(version, SESSION_VERSION) }));
      new RepairedEntries(new SessionReader({ store, version })).write(writer);
      writer.end();
    });
  } finally {
    store.close();
  }
}

const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d];

/** Writes the entries of a damaged file as a sound file has them: ids used once, parents before their children. */
class RepairedEntries {
  readonly #reader: SessionReader;
  readonly #index: EntryIndex;
  readonly #written: Uint8Array;
  /** The compactions whose first kept entry is not before them. */
  readonly #lacking: ReadonlyMap<number, string>;
  /** By written compaction: the id of its first kept entry. */
  readonly #firstKept = new Map<number, string>();
  /** The written entry that is the last in the damaged file, and the entry written last. */
  #newest = -1;
  #last = -1;
  #leafId: string | null = null;

  constructor(reader: SessionReader) {
    this.#reader = reader;
    this.#index = reader.index();
    this.#written = new Uint8Array(this.#index.count);
    // Find lost bodies first: their children get the grandparent.
    for (const _ of reader.scan());
    this.#lacking = compactionsWithoutKept(reader);
  }

  /** Writes all entries. The leaf stays the same. */
  write(writer: LineWriter): void {
    for (let number = 0; number < this.#index.count; number++) this.#writeWithParents(number, writer);
    // A parent that came after its child comes before it now: then the last entry is another one.
    if (this.#last !== this.#newest) writer.write(JSON.stringify(this.#leafMarker()));
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
    const invalidFields: string[] = [];
    const entry = this.#placed(value, number, invalidFields);
    const mended = entry.type === "compaction" ? this.#mendedCompaction(entry, number) : entry;
    const isSame = mended === value && invalidFields.length === 0;
    if (this.#reader.version >= SESSION_VERSION && isSame && isSound(bytes))
      writer.copy(this.#index.record(number));
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
  #placed(value: unknown, number: number, invalidFields?: string[]): Entry {
    const parent = this.#index.parent(number);
    const parentId = parent < 0 ? null : this.#id(parent);
    return entryFrom(
      value,
      { id: this.#id(number), parentId, version: this.#reader.version },
      invalidFields,
    )!;
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
    return readBytes(this.#reader.store, this.#index.place(number));
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
