import { unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, EntryDraftWithId } from "../entry.ts";
import { LEAF_RECORD } from "../own-entries.ts";
import { JsonlStore } from "../store/jsonl-store.ts";
import { LineAppender } from "../store/line-appender.ts";
import { forEachLine, readBytes } from "../store/line-reader.ts";
import { randomHex } from "../store/new-file.ts";
import type { SessionStore } from "../store/store.ts";
import { asStored } from "./companions.ts";
import type { SessionReader } from "./session-reader.ts";

/**
 * What survives what: `process` (a kill of the process; each append is in the system's hands) or `power` (a
 * loss of power too: each append that holds a message is flushed to the disk).
 */
export type Durability = "process" | "power";

/** Up to this size, a file's ids are looked through before a short new one is given. */
const KNOWN_IDS_BYTES = 4 << 20;

/** To ask for a file's size takes a tenth of an append: who appends fast asks now and then. */
const LOOK_EVERY_APPENDS = 64;
const LOOK_EVERY_MS = 50;
/** So often an append waits for another writer's line to be whole: a moment each time. */
const MOST_WAITS = 50;

interface SessionWriterOptions {
  reader: SessionReader;
  durability: Durability;
  onForeign: () => void;
  /**
   * Called now and then while there are appends, before it is looked whether somebody else appends.
   * @param isLost true where the store does not hold all that was appended here
   * @returns whether the store was mended; `failed` where it has to be, and could not
   */
  onLook: (isLost: boolean) => "sound" | "mended" | "failed";
}

/** Makes entries and appends them, each call as one write. Notices when somebody else appends to the same file. */
export class SessionWriter {
  readonly #reader: SessionReader;
  readonly #lines: LineAppender;
  readonly #durability: Durability;
  readonly #onForeign: () => void;
  readonly #onLook: SessionWriterOptions["onLook"];
  /** All that was appended here. */
  readonly ownLines = new OwnLines();
  /** What was appended since the last look, and the end of what was then. */
  #recent: string[] = [];
  #lookedBytes: number;
  /** The end of the file at the last look; absent where no file is there that others could cut. */
  #witness: { offset: number; bytes: Buffer } | undefined;
  #madeIds: IdSource | undefined;
  #shortIds: boolean;
  #stamp = { ms: 0, text: "" };
  /** True where the store lost entries that could not be written again. */
  #isMendingDue = false;
  #sinceLook = LOOK_EVERY_APPENDS;
  #lookedAtMs = 0;

  constructor(options: SessionWriterOptions) {
    this.#reader = options.reader;
    this.#durability = options.durability;
    this.#onForeign = options.onForeign;
    this.#onLook = options.onLook;
    this.#lines = new LineAppender(options.reader.store);
    this.#lookedBytes = this.#lines.bytes;
    this.#witness = witnessOf(options.reader.store, this.#lookedBytes);
    this.#shortIds = this.#lookedBytes <= KNOWN_IDS_BYTES;
  }

  /** Made at the first use: who only reads needs no random numbers. */
  get #ids(): IdSource {
    this.#madeIds ??= new IdSource();
    return this.#madeIds;
  }

  /** An id that no entry has. */
  newId(): string {
    if (!this.#shortIds) return this.#ids.long();
    const index = this.#reader.madeIndex ?? this.#reader.index();
    for (;;) {
      const id = this.#ids.short();
      if (index.find(id) < 0) return id;
    }
  }

  /** The time now; to make the text of it takes as long as a read, and many appends share one. */
  #timestamp(): string {
    const now = Date.now();
    if (now !== this.#stamp.ms) this.#stamp = { ms: now, text: new Date(now).toISOString() };
    return this.#stamp.text;
  }

  /** Makes entries of drafts, as one chain below a parent. */
  make(drafts: readonly EntryDraftWithId[], parentId: string | null): Entry[] {
    const timestamp = this.#timestamp();
    let parent = parentId;
    return drafts.map((draft) => {
      const { type, id = this.newId(), ...fields } = draft;
      const entry = { type, id, parentId: parent, timestamp, ...fields } as Entry;
      parent = id;
      return entry;
    });
  }

  /** @throws BonsaiError `append_failed`, `session_read_only`, `entry_not_serializable`. */
  write(entries: readonly Entry[]): void {
    const { store } = this.#reader;
    const lines = entries.map(serialized);
    // A loss is mended first, so that what is appended comes behind what it hangs on. Where somebody else appended, the
    // file can be longer than it was and have lost entries all the same.
    let waits = MOST_WAITS;
    do {
      if (this.#isLookDue() || store.size() !== this.#lines.bytes) this.lookForForeign();
    } while (!this.#lines.settle() && waits-- > 0);
    const texts = this.#append(lines, entries);
    if (store.file !== undefined) {
      this.ownLines.add(texts[0]!);
      this.#recent.push(...texts);
    }
    if (this.#durability === "power" && entries.some(holdsMessage)) store.flush();
    this.#sinceLook += 1;
  }

  /** Asked before an append, never after it: the session's leaf is then the stored one, and a restored file keeps it. */
  #isLookDue(): boolean {
    if (this.#isMendingDue || this.#sinceLook >= LOOK_EVERY_APPENDS) return true;
    return Date.now() - this.#lookedAtMs >= LOOK_EVERY_MS;
  }

  #append(lines: readonly string[], entries: readonly Entry[]): string[] {
    const { store } = this.#reader;
    const from = this.#lines.bytes;
    try {
      return lines.length === 1
        ? this.#lines.append(lines)
        : this.#lines.append(lines, () => [lines[0]!, this.#leafRecord(entries.at(-1)!)]);
    } catch (error) {
      // A part of it may have been stored; more than all of it is somebody else's.
      const mostBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, from + 1);
      if (store.size() > mostBytes) this.lookForForeign();
      this.#lines.look();
      throw error;
    }
  }

  /** The record of where the leaf is, where another entry stands last. */
  #leafRecord(leaf: Entry): string {
    return serialized(this.make([LEAF_RECORD], leaf.id)[0]!);
  }

  /** Notices when somebody else has appended since the last look. */
  lookForForeign(): void {
    this.#sinceLook = 0;
    this.#lookedAtMs = Date.now();
    const state = this.#onLook(this.#isLost());
    const { store } = this.#reader;
    this.#isMendingDue = state === "failed";
    if (state === "failed") {
      this.#lines.look();
      return;
    }
    const isChanged = store.size() !== this.#lines.bytes;
    if (isChanged || state === "mended") this.#lines.look();
    this.#recent = [];
    this.#lookedBytes = this.#lines.bytes;
    this.#witness = witnessOf(store, this.#lookedBytes);
    if (!isChanged || state === "mended") return;
    this.#shortIds = false;
    this.#onForeign();
  }

  /**
   * True where the store was cut off, or holds something else in the place of what was appended last. Costs a read or two,
   * and more only where somebody else appended.
   */
  #isLost(): boolean {
    const { store } = this.#reader;
    const size = store.size();
    const last = this.#recent.at(-1);
    if (this.#isMendingDue || size < this.#lines.bytes) return true;
    if (this.#witness !== undefined && !holds(store, this.#witness)) return true;
    if (last === undefined) return false;
    if (size !== this.#lines.bytes) return !this.#holdsRecent(size);
    const bytes = Buffer.from(last.slice(-WITNESS_BYTES));
    return !holds(store, { offset: size - bytes.length, bytes });
  }

  /** Somebody else appended too: looks for what was appended here among what is new. */
  #holdsRecent(size: number): boolean {
    const offset = this.#lookedBytes;
    const added = readBytes(this.#reader.store, { offset, lengthBytes: Math.max(0, size - offset) });
    return this.#recent.every((text) => added.includes(text));
  }
}

function witnessOf(store: SessionStore, size: number): { offset: number; bytes: Buffer } | undefined {
  if (store.file === undefined) return undefined;
  const offset = Math.max(0, size - WITNESS_BYTES);
  return { offset, bytes: readBytes(store, { offset, lengthBytes: size - offset }) };
}

function holds(store: SessionStore, { offset, bytes }: { offset: number; bytes: Buffer }): boolean {
  return readBytes(store, { offset, lengthBytes: bytes.length }).equals(bytes);
}

/** So much of a line tells it from every other: its end follows on its id. */
const WITNESS_BYTES = 256;

function holdsMessage(entry: Entry): boolean {
  return entry.type !== "label" && entry.type !== "usage";
}

function serialized(entry: Entry): string {
  try {
    return JSON.stringify(asStored(entry));
  } catch (cause) {
    const problem = cause instanceof RangeError ? "it is nested too deeply or too long" : String(cause);
    throw new BonsaiError({
      code: "entry_not_serializable",
      message: `Cannot write an entry of type ${entry.type} as JSON: ${problem}`,
      hint: "Use only plain JSON values in an entry: no circular references, no BigInt, no endless nesting.",
      cause,
    });
  }
}

/** More than a long session of work appends. */
const MOST_BYTES_IN_MEMORY = 16 << 20;

/**
 * What this process appended to a session, so that it can be written again where the file loses it. What is too much for
 * memory lies in a file without a name, which the system clears away with the process.
 */
class OwnLines {
  #texts: string[] = [];
  #bytes = 0;
  #older: JsonlStore | undefined;

  /** Adds lines, each with its newline; a blank one may stand before them. */
  add(text: string): void {
    this.#texts.push(text);
    this.#bytes += text.length;
    if (this.#bytes > MOST_BYTES_IN_MEMORY) this.#putAway();
  }

  /** Calls with each line, in the order in which they were appended. */
  each(visit: (line: string) => void): void {
    const store = this.#older;
    if (store !== undefined) {
      const visitStored = (line: { offset: number; lengthBytes: number }) =>
        visit(readBytes(store, line).toString());
      forEachLine({ store, from: 0, until: store.size(), visit: visitStored });
    }
    for (const text of this.#texts) for (const line of text.split("\n")) if (line !== "") visit(line);
  }

  close(): void {
    this.#older?.close();
    this.#older = undefined;
    this.#texts = [];
    this.#bytes = 0;
  }

  #putAway(): void {
    try {
      this.#older ??= namelessFile();
      this.#older.append(this.#texts.join(""));
      this.#texts = [];
    } catch {
      // A full disk: then memory holds it, and the next time is as far away as this one was.
    }
    this.#bytes = 0;
  }
}

function namelessFile(): JsonlStore {
  const store = JsonlStore.create(join(tmpdir(), `bonsai-own-${randomHex(8)}.tmp`), "");
  unlinkSync(store.file);
  return store;
}

/** An odd number near 2^32 / golden ratio: its multiples meet every 32-bit number once. */
const STEP = 0x9e3779b1;

/**
 * New entry ids, of which no two are the same. They walk through all 32-bit numbers from a random start, so
 * that nobody needs to remember them, and two processes on one file hardly ever meet.
 */
class IdSource {
  #value = Number.parseInt(randomHex(4), 16);
  readonly #prefix = randomHex(4);

  /** 8 hexadecimal characters. */
  short(): string {
    this.#value = (this.#value + STEP) >>> 0;
    return this.#value.toString(16).padStart(8, "0");
  }

  /** 16 hexadecimal characters, for a file whose ids are not all known. */
  long(): string {
    return this.#prefix + this.short();
  }
}
