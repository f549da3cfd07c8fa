import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, EntryDraftWithId } from "../entry.ts";
import { compactionChange, LEAF_RECORD } from "../own-entries.ts";
import { LineAppender } from "../store/line-appender.ts";
import { randomHex } from "../store/new-file.ts";
import { asStored, needsCompanions, withCompanions } from "./companions.ts";
import { entryNotFound, type SessionReader } from "./session-reader.ts";
import { type LiveView, lacksKeptEntry } from "./tail.ts";

/**
 * The losses that an append survives: `process` (a kill of the process; each append is in the system's hands) or `power` (a
 * loss of power too: each append that holds a message is flushed to the disk).
 */
export type Durability = "process" | "power";

/** Up to this size, a file's ids are looked through before a short new one is given. */
const KNOWN_IDS_BYTES = 4 << 20;

/** The writer looks at the file this often while it appends. */
const LOOK_EVERY_APPENDS = 64;
const LOOK_EVERY_MS = 50;

interface SessionWriterOptions {
  reader: SessionReader;
  durability: Durability;
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
  readonly #reader: SessionReader;
  readonly #lines: LineAppender;
  readonly #durability: Durability;
  readonly #onForeign: () => void;
  readonly #onLost: SessionWriterOptions["onLost"];
  /** The entries appended here last, and those before them: together at least the last 16 MB. */
  #ownEntries: Entry[] = [];
  #earlierOwnEntries: Entry[] = [];
  #ownCharacters = 0;
  #madeIds: IdSource | undefined;
  #shortIds: boolean;
  #stamp = { ms: 0, text: "" };
  #sinceLook = LOOK_EVERY_APPENDS;
  #lookedAtMs = 0;

  constructor(options: SessionWriterOptions) {
    this.#reader = options.reader;
    this.#durability = options.durability;
    this.#onForeign = options.onForeign;
    this.#onLost = options.onLost;
    this.#lines = new LineAppender(options.reader.store);
    this.#shortIds = this.#lines.bytes <= KNOWN_IDS_BYTES;
  }

  /** The entries appended here, oldest first. Of a long session, at least the last 16 MB. */
  get ownEntries(): Entry[] {
    return [...this.#earlierOwnEntries, ...this.#ownEntries];
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
    if (this.#durability === "power" && entries.some(holdsMessage)) this.#reader.store.flush();
    this.#sinceLook += 1;
  }

  /** Before an append, for the session's leaf is the stored one then. */
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
      // A part of the lines may be stored. More than all of them is somebody else's.
      const maxBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, from + 1);
      if (this.#reader.store.size() > maxBytes) this.look();
      this.#lines.look();
      throw error;
    }
  }

  /** The record of where the leaf is, where another entry stands last. */
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
   * Looks at the store: whether it still has what was appended, and whether another writer has appended.
   * @param unacknowledged entries that were written just now
   * @throws BonsaiError `session_not_created` if entries are lost and no copy can be written
   */
  look(unacknowledged: readonly Entry[] = []): void {
    const { store } = this.#reader;
    this.#sinceLook = LOOK_EVERY_APPENDS;
    const isLost = store.continueInCopy !== undefined && (store.isGone?.() || !this.#lines.isIntact());
    if (isLost) this.#onLost(unacknowledged);
    const isForeign = !isLost && store.size() !== this.#lines.bytes;
    this.#lines.look();
    this.#sinceLook = 0;
    this.#lookedAtMs = Date.now();
    if (!isForeign) return;
    this.#shortIds = false;
    this.#onForeign();
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

/** More than a long session of work appends. */
const MAX_OWN_CHARACTERS = 16 << 20;

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
