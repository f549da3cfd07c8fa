import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, EntryDraftWithId } from "../entry.ts";
import { asStored, compactionChange, LEAF_RECORD } from "../own-entries.ts";
import { needsCompanions, withCompanions } from "../projection.ts";
import { type LineSource, readBytes } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";
import { entryNotFound, type SessionReader } from "./session-reader.ts";
import { type LiveView, lacksKeptEntry } from "./tail.ts";

/**
 * The losses that an append survives: `process` (a kill of the process; each append is in the system's hands) or `power` (a
 * loss of power too: each append that holds a message is flushed to the disk).
 */
export type Durability = "process" | "power";

/** Up to this size, a short new id is checked against all ids of the file. */
const KNOWN_IDS_BYTES = 4 << 20;

/** The writer looks at the file this often while it appends. */
const LOOK_EVERY_APPENDS = 64;
const LOOK_EVERY_MS = 50;

const NEWLINE = 10;
/** A living writer completes its line within this time. */
const SETTLED_MS = 20;
const STEP_MS = 2;
const MAX_STEPS = 50;
/** Enough bytes to identify the end of a line, which includes its id or its text. */
const END_BYTES = 256;

interface SessionWriterOptions {
  reader: SessionReader;
  durability: Durability;
  /** True for a session without entries. */
  isNew: boolean;
  /** Called if another writer has appended. */
  onForeign: () => void;
  /**
   * Called if the store lost entries. Makes the store continue in a copy, or throws.
   * @param unacknowledged entries that were written just now
   */
  onLost: (unacknowledged: readonly Entry[]) => void;
}

/** Makes entries and appends them, each call as one write. Notices other writers, and the loss of entries. */
export class SessionWriter {
  readonly #options: SessionWriterOptions;
  readonly #reader: SessionReader;
  readonly #lines: LineAppender;
  /** The entries appended here last, and those before them: together at least the last 16 MB. */
  #ownEntries: Entry[] = [];
  #earlierOwnEntries: Entry[] = [];
  #ownCharacters = 0;
  #madeIds: IdSource | undefined;
  /** The ids of the file: `new` if all were made here, `many` if they are too many to check. */
  #knownIds: "new" | "indexed" | "many";
  #stamp = { ms: 0, text: "" };
  #sinceLook = LOOK_EVERY_APPENDS;
  #lookedAtMs = 0;

  constructor(options: SessionWriterOptions) {
    this.#options = options;
    this.#reader = options.reader;
    this.#lines = new LineAppender(options.reader.store);
    this.#knownIds = options.isNew ? "new" : this.#lines.bytes <= KNOWN_IDS_BYTES ? "indexed" : "many";
  }

  /** The entries appended here, oldest first. Of a long session, at least the last 16 MB. */
  get ownEntries(): Entry[] {
    return [...this.#earlierOwnEntries, ...this.#ownEntries];
  }

  /** Made at the first use: a reader needs no random numbers. */
  get #ids(): IdSource {
    this.#madeIds ??= new IdSource();
    return this.#madeIds;
  }

  /** An id that no entry has. */
  newId(): string {
    if (this.#knownIds === "many") return this.#ids.long();
    if (this.#knownIds === "new") return this.#ids.short();
    const index = this.#reader.madeIndex ?? this.#reader.index();
    for (;;) {
      const id = this.#ids.short();
      if (index.find(id) < 0) return id;
    }
  }

  /** The present time as text. Cached, because formatting takes as long as a read. */
  #timestamp(): string {
    const now = Date.now();
    if (now !== this.#stamp.ms) this.#stamp = { ms: now, text: new Date(now).toISOString() };
    return this.#stamp.text;
  }

  /**
   * Makes entries of drafts, as one chain below a parent, with the companions that they need.
   * @param view the model's view at the parent. Default: none, for drafts that change no view
   */
  make(drafts: readonly EntryDraftWithId[], parentId: string | null, view?: LiveView): Entry[] {
    const timestamp = this.#timestamp();
    let parent = parentId;
    const made = drafts.map((draft) => {
      const { type, id = this.newId(), ...fields } = draft;
      const entry = { type, id, parentId: parent, timestamp, ...fields } as Entry;
      parent = id;
      return entry;
    });
    if (view === undefined || !made.some(needsCompanions)) return made;
    return withCompanions(this.#pathBefore(made, view), made, () => this.newId());
  }

  /** The path that new entries continue, as far back as their companions depend on it. */
  #pathBefore(made: readonly Entry[], view: LiveView): readonly Entry[] {
    const { parentId } = made[0]!;
    if (view.reachesRoot || parentId === null) return view.entries;
    const undone = made.flatMap((entry) => {
      const change = compactionChange(entry);
      return change?.isUndone ? [change.compactionId] : [];
    });
    const tail = undone.length > 0 && (this.#reader.tail(parentId, undone) ?? entryNotFound(parentId));
    const before = tail ? tail.entries : view.entries;
    if (!lacksKeptEntry([...before, ...made])) return before;
    return this.#reader.path(parentId, view.entries) ?? before;
  }

  /** @throws BonsaiError `append_failed`, `session_read_only`, `session_not_created`, `entry_not_serializable`. */
  write(entries: readonly Entry[]): void {
    const lines = entries.map(serialized);
    if (this.#isLookDue()) this.look();
    this.#lines.settle();
    const isAlone = this.#append(lines, entries);
    if (!isAlone) this.look(entries);
    this.#remember(entries, lines);
    if (this.#options.durability === "power" && entries.some(holdsMessage)) this.#reader.store.flush();
    this.#sinceLook += 1;
  }

  /** Called before an append: the session's leaf is then the stored one. */
  #isLookDue(): boolean {
    return this.#sinceLook >= LOOK_EVERY_APPENDS || Date.now() - this.#lookedAtMs >= LOOK_EVERY_MS;
  }

  #append(lines: readonly string[], entries: readonly Entry[]): boolean {
    const from = this.#lines.bytes;
    try {
      return lines.length === 1
        ? this.#lines.append(lines)
        : this.#lines.append(lines, () => [lines[0]!, this.#leafRecord(entries.at(-1)!)]);
    } catch (error) {
      // A part of the lines may be stored. More bytes than theirs are another writer's.
      const maxBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, from + 1);
      if (this.#reader.store.size() > maxBytes) this.look();
      this.#lines.look();
      throw error;
    }
  }

  /** The record of the leaf, if another entry is the last one. */
  #leafRecord(leaf: Entry): string {
    return serialized(this.make([LEAF_RECORD], leaf.id)[0]!);
  }

  #remember(entries: readonly Entry[], lines: readonly string[]): void {
    this.#ownEntries.push(...entries);
    for (const line of lines) this.#ownCharacters += line.length;
    if (this.#ownCharacters < MAX_OWN_CHARACTERS) return;
    this.#earlierOwnEntries = this.#ownEntries;
    this.#ownEntries = [];
    this.#ownCharacters = 0;
  }

  /**
   * Looks if the store still has the appended entries, and if another writer has appended.
   * @param unacknowledged entries that were written just now
   * @throws BonsaiError `session_not_created` if entries are lost and no copy can be written
   */
  look(unacknowledged: readonly Entry[] = []): void {
    const { store } = this.#reader;
    this.#sinceLook = LOOK_EVERY_APPENDS;
    const isLost = store.continueInCopy !== undefined && (store.isGone?.() || !this.#lines.isIntact());
    if (isLost) this.#options.onLost(unacknowledged);
    const isForeign = !isLost && store.size() !== this.#lines.bytes;
    this.#lines.look();
    this.#sinceLook = 0;
    this.#lookedAtMs = Date.now();
    if (!isForeign) return;
    this.#knownIds = "many";
    this.#options.onForeign();
  }
}

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

/**
 * Appends lines to a store that others may append to as well. Owner of the known end of the store.
 *
 * Another writer can be killed in the middle of a line at any moment, also between a look at the end and a write. So
 * `append` looks afterwards whether another writer was there, and at the byte before the own text. If that byte is no
 * newline, the first line continues a cut-off one and is lost with it: `append` writes it again after a newline.
 *
 * Invariant: when `append` returns, each appended text that the store still has is a line of its own.
 */
class LineAppender {
  readonly #store: SessionStore;
  /** The end of the store, if no other writer has appended since. */
  bytes = 0;
  /** True if the last line has no newline: the next text must begin with one. */
  #isWithinLine = false;
  /** The time when the end was first seen where it is. */
  #seenAtMs = 0;
  /** The last bytes of the store at the last look. */
  #lookedEnd!: StoredBytes;
  /** The text appended last, and the offset of its end. */
  #appended: { text: string; end: number } | undefined;

  constructor(store: SessionStore) {
    this.#store = store;
    this.look();
  }

  /** Reads the present end of the store. */
  look(): void {
    const bytes = this.#store.size();
    this.#lookedEnd = endOf(this.#store, bytes);
    this.#appended = undefined;
    const isWithinLine = bytes > 0 && this.#lookedEnd.bytes.at(-1) !== NEWLINE;
    if (bytes !== this.bytes || isWithinLine !== this.#isWithinLine) this.#seenAtMs = Date.now();
    this.bytes = bytes;
    this.#isWithinLine = isWithinLine;
  }

  /** False if the store no longer has its end at the last look, or the text appended last. */
  isIntact(): boolean {
    if (this.#store.size() < this.bytes || !holds(this.#store, this.#lookedEnd)) return false;
    if (this.#appended === undefined) return true;
    const bytes = Buffer.from(this.#appended.text).subarray(-END_BYTES);
    return holds(this.#store, { offset: this.#appended.end - bytes.length, bytes });
  }

  /** If the last line has no newline, waits a moment: another writer may still be writing it. */
  settle(): void {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if (!this.#isWithinLine || Date.now() - this.#seenAtMs >= SETTLED_MS) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
      this.look();
    }
  }

  /**
   * Appends lines as one write.
   * @param again the lines to write once more if the first one was lost. Default: the first one
   * @returns false if another writer has appended or the store was cut off: then call `isIntact`
   * @throws what the store throws
   */
  append(lines: readonly string[], again: () => readonly string[] = () => lines.slice(0, 1)): boolean {
    const text = this.#isWithinLine ? `\n${joined(lines)}` : joined(lines);
    const from = this.bytes;
    this.bytes += this.#store.append(text);
    this.#appended = { text, end: this.bytes };
    const isAlone = this.#store.size() === this.bytes;
    if (!isAlone) this.#placeAmongOthers(from, again);
    this.#isWithinLine = false;
    return isAlone;
  }

  /** Finds the appended text after `from`, and ends a cut-off line before it. */
  #placeAmongOthers(from: number, again: () => readonly string[]): void {
    const { text } = this.#appended!;
    const lengthBytes = Math.max(0, this.#store.size() - from);
    const added = readBytes(this.#store, { offset: from, lengthBytes });
    const at = added.lastIndexOf(text);
    if (at < 0) return;
    this.#appended = { text, end: from + at + Buffer.byteLength(text) };
    if (at === 0 || this.#isWithinLine || added[at - 1] === NEWLINE) return;
    this.bytes += this.#store.append(`\n${joined(again())}`);
  }
}

/** Bytes that the store had at the last look. */
interface StoredBytes {
  offset: number;
  bytes: Buffer;
}

function endOf(store: LineSource, size: number): StoredBytes {
  const offset = Math.max(0, size - END_BYTES);
  return { offset, bytes: readBytes(store, { offset, lengthBytes: size - offset }) };
}

function holds(store: LineSource, { offset, bytes }: StoredBytes): boolean {
  return readBytes(store, { offset, lengthBytes: bytes.length }).equals(bytes);
}

function joined(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}

/** A long session of work appends less. */
const MAX_OWN_CHARACTERS = 16 << 20;

/** An odd number near 2^32 / golden ratio: its multiples meet every 32-bit number once. */
const STEP = 0x9e3779b1;

/**
 * Makes new entry ids without repetition: it walks through all 32-bit numbers from a random start. Two processes on one
 * file hardly ever make the same id.
 */
class IdSource {
  #value: number;
  readonly #prefix: string;

  constructor() {
    const [value, prefix] = crypto.getRandomValues(new Uint32Array(2));
    this.#value = value!;
    this.#prefix = hex(prefix!);
  }

  /** 8 hexadecimal characters. */
  short(): string {
    this.#value = (this.#value + STEP) >>> 0;
    return hex(this.#value);
  }

  /** 16 hexadecimal characters, for a file whose ids are not all known. */
  long(): string {
    return this.#prefix + this.short();
  }
}

function hex(value: number): string {
  return value.toString(16).padStart(8, "0");
}
