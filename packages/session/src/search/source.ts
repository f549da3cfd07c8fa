import { closeSync, fstatSync, openSync, type Stats, statSync } from "node:fs";
import { crc32 } from "node:zlib";
import { callsIn, contentBlocks, isRecord, jsonText, SecretFilter } from "@bonsai-agent/messages";
import type { Entry } from "../entry.ts";
import { entryTexts } from "../entry-types.ts";
import { pinChange } from "../own-entries.ts";
import { EntryHead, parseBytes, parseLine } from "../read/entry-head.ts";
import { chainedId, unnamedId } from "../read/entry-index.ts";
import { gluedEntries } from "../read/glued-entries.ts";
import { type HeaderReading, readHeader } from "../read/session-header.ts";
import { entryFrom } from "../read/sound-entry.ts";
import { readFrom, refusePipe } from "../store/jsonl-store.ts";
import { forEachLine, type Line, type LineSource, readBytes, WINDOW_BYTES } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";

// A search reads session files itself. For a file in another format, the caller adds a `read` function to the file's path:
// it yields the entries from a byte on, with their places, so that the index follows the file as it grows.

/** A searched file. */
export interface EntrySource {
  /** Absolute path. */
  file: string;
  /**
   * Yields the entries that begin at a byte or later, in file order, without a torn last one. A file that is always
   * rewritten as a whole has one place for all its entries: offset 0 and its size. Default: reads a session file.
   * @throws what the file system throws for a file that cannot be read
   */
  read?: (file: string, from: number) => Iterable<PlacedEntry>;
  /**
   * The state of a part of a file, such as a session in a database, which is read anew after a change. `file` is then the
   * path with `#` and the part's name. Default: the file's own state.
   */
  mark?: () => FileMark;
}

/** An entry with its bytes in the file. */
export interface PlacedEntry {
  entry: Entry;
  offset: number;
  lengthBytes: number;
}

/** A position in a file: the beginning of a line. */
export interface FilePosition {
  offset: number;
  /** Number of the line, from 1. */
  line: number;
  /** Earlier lines that are not blank. */
  written: number;
  /** Earlier entries. */
  entries: number;
}

export const FILE_START: FilePosition = { offset: 0, line: 1, written: 0, entries: 0 };

/** The state of a file when it was read. */
export interface FileMark {
  inode: string;
  /** Size in bytes; the offset of the position if the reader stopped before the end. */
  size: number;
  modifiedMs: number;
}

/** The user's words and pins are 0, the agent's prose is 1, everything else is 2. */
export type Field = 0 | 1 | 2;

/** Facts about an entry that a search needs. */
export interface EntryFacts {
  entryId: string;
  type: Entry["type"];
  /** Only for a message. */
  role?: string;
  /** Milliseconds since the epoch; 0 if the entry has no valid time. */
  timeMs: number;
  texts: readonly string[];
  /** The texts by field, with the call of a result. */
  fields: ReadonlyMap<Field, string>;
}

/** The place of an entry in its file. */
export interface EntryPlace {
  entryId: string;
  offset: number;
  lengthBytes: number;
  timeMs: number;
}

export interface FoundEntry extends EntryFacts, EntryPlace {
  /** Number of the entry in the file, from 1. */
  number: number;
}

/** Some entries with texts, and the position after them. */
interface Slice {
  entries: FoundEntry[];
  position: FilePosition;
}

/** Bytes read before other tasks get a turn: some 20 ms of indexing. */
const SLICE_BYTES = 1 << 16;
/** A longer line is not searched. */
const MAX_LINE_BYTES = 1 << 25;
const MAX_CALL_CHARACTERS = 400;

/** One for all files: lines are visited without a pause. */
const WINDOW = Buffer.allocUnsafeSlow(WINDOW_BYTES);

/** A file that is only read, opened at the first need, or the store of an open session. */
export class SourceFile implements LineSource {
  /** Absolute path; empty for a session without a file. */
  readonly file: string;
  readonly #read: EntrySource["read"];
  readonly #mark: EntrySource["mark"];
  readonly #store: SessionStore | undefined;
  readonly #head = new EntryHead();
  #fd = -1;
  #header: HeaderReading | undefined;
  readonly #calls = new Map<string, string>();

  constructor({ file, read, mark }: EntrySource, store?: SessionStore) {
    this.file = file;
    this.#read = read;
    this.#mark = mark;
    this.#store = store;
  }

  /** Size in bytes now. @throws what the file system throws */
  size(): number {
    return this.#store?.size() ?? fstatSync(this.#open()).size;
  }

  read(target: Uint8Array, offset: number): number {
    return this.#store?.read(target, offset) ?? readFrom(this.#open(), target, offset);
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** The header of a session, read once. @throws BonsaiError `session_empty`, `not_a_session` */
  header(): HeaderReading {
    this.#header ??= readHeader(this);
    return this.#header;
  }

  /**
   * Reads the entries with texts from a position up to a byte, with the ids that the session itself gives them.
   * @param secrets default: a filter that knows no keys
   * @throws as `header`, and what the file system throws
   */
  *slices({ from, until }: { from: FilePosition; until: number }, secrets?: SecretFilter): Generator<Slice> {
    if (this.#read !== undefined) return yield* this.#readSlices(from, secrets);
    this.header();
    let position = from;
    for (let bytes = SLICE_BYTES; position.offset < until; ) {
      const end = Math.min(until, position.offset + bytes);
      const slice = this.#sessionSlice({ from: position, until: end }, secrets);
      const isStuck = slice.position.offset === position.offset;
      // A last line that is not written to its end is left for later.
      if (isStuck && end === until) return;
      // A line can be longer than a slice.
      bytes = isStuck ? 2 * bytes : SLICE_BYTES;
      position = slice.position;
      yield slice;
    }
  }

  *#readSlices(from: FilePosition, secrets?: SecretFilter): Generator<Slice> {
    let position = { ...from };
    let entries: FoundEntry[] = [];
    let end = from.offset + SLICE_BYTES;
    for (const { entry, offset, lengthBytes } of this.#read!(this.file, from.offset)) {
      if (offset >= end) {
        yield { entries, position };
        entries = [];
        position = { ...position };
        end = offset + SLICE_BYTES;
      }
      position.entries += 1;
      position.offset = Math.max(position.offset, offset + lengthBytes);
      entries.push(...this.#found(entry, { offset, lengthBytes, number: position.entries }, secrets));
    }
    yield { entries, position };
  }

  #sessionSlice({ from, until }: { from: FilePosition; until: number }, secrets?: SecretFilter): Slice {
    const position = { ...from };
    const entries: FoundEntry[] = [];
    const head = this.#head;
    const add = (line: Line, kind: "entry" | "no_id") => {
      position.entries += 1;
      if (line.lengthBytes > MAX_LINE_BYTES) return;
      const entry = this.#entry(parseLine(line, this), this.#idOf(line, kind, position));
      const { offset, lengthBytes } = line;
      if (entry !== undefined)
        entries.push(...this.#found(entry, { offset, lengthBytes, number: position.entries }, secrets));
    };
    forEachLine({
      store: this,
      window: WINDOW,
      from: from.offset,
      until,
      firstNumber: from.line,
      visit: (line) => {
        if (!line.ended && !isRecord(parseLine(line, this))) return;
        const kind = head.read(line, this);
        const glued = head.isSuspect(line, kind) ? gluedEntries(line, this) : undefined;
        for (const part of glued ?? []) {
          head.read(part, this);
          add(part, "entry");
        }
        if (glued === undefined && (kind === "entry" || kind === "no_id") && !head.isCutOff) add(line, kind);
        if (kind !== "blank") position.written += 1;
        position.offset = line.offset + line.lengthBytes + (line.ended ? 1 : 0);
        position.line = line.number + (line.ended ? 1 : 0);
      },
    });
    return { entries, position };
  }

  #idOf(line: Line, kind: "entry" | "no_id", { written }: FilePosition): string {
    const head = this.#head;
    const namesPlace = kind === "entry" && (head.parentStart >= 0 || head.isRoot);
    if (this.header().version === 1 && !namesPlace) return chainedId(written);
    return kind === "no_id" ? unnamedId(line.number) : head.id;
  }

  #entry(line: unknown, id: string): Entry | undefined {
    const parentId = isRecord(line) && typeof line.parentId === "string" ? line.parentId : null;
    return entryFrom(line, { id, parentId, version: this.header().version });
  }

  /** Reads one entry again. Undefined if it is gone, or the file cannot be read. */
  entryAt({ entryId, offset, lengthBytes }: EntryPlace, secrets?: SecretFilter): EntryFacts | undefined {
    try {
      if (this.#read === undefined) {
        const entry = this.#entry(parseBytes(readBytes(this, { offset, lengthBytes })), entryId);
        return entry && this.#facts(entry, secrets);
      }
      for (const { entry, offset: at } of this.#read(this.file, offset)) {
        if (entry.id === entryId) return this.#facts(entry, secrets);
        if (at > offset) break;
      }
    } catch {
      // The next reader of the file reports the error.
    }
    return undefined;
  }

  #found(
    entry: Entry,
    place: Pick<FoundEntry, "offset" | "lengthBytes" | "number">,
    secrets?: SecretFilter,
  ): FoundEntry[] {
    const facts = this.#facts(entry, secrets);
    return facts.texts.length === 0 ? [] : [{ ...facts, ...place }];
  }

  #facts(entry: Entry, secrets = new SecretFilter()): EntryFacts {
    const role = entry.type === "message" ? entry.message.role : undefined;
    const plain = [...entryTexts(entry)];
    const texts = secrets.values(plain);
    const fields = new Map<Field, string>();
    const add = (field: Field, text: string) => fields.set(field, `${fields.get(field) ?? ""}${text}\n\n`);
    for (const [at, field] of fieldsOf(entry, plain).entries()) add(field, texts[at]!);
    const called = secrets.value(this.#called(entry));
    if (called !== "") add(2, called);
    return {
      entryId: entry.id,
      type: entry.type,
      ...(typeof role === "string" && { role }),
      timeMs: Date.parse(entry.timestamp) || 0,
      texts,
      fields,
    };
  }

  /** Notes the calls of an answer. Returns the call of a result, if it was read before. */
  #called(entry: Entry): string {
    if (entry.type !== "message" || !isRecord(entry.message)) return "";
    const { message } = entry;
    for (const { id, arguments: args } of callsIn(message))
      this.#calls.set(id, jsonText(args).slice(0, MAX_CALL_CHARACTERS));
    return message.role === "toolResult" ? (this.#calls.get(message.toolCallId) ?? "") : "";
  }

  /** @throws what the file system throws */
  mark(): FileMark {
    if (this.#mark !== undefined) return this.#mark();
    if (this.#store !== undefined) return { inode: "", size: this.#store.size(), modifiedMs: 0 };
    return markOf(fstatSync(this.#open()));
  }

  /** Compares the file with its state when it was read up to an offset. */
  progress(known: FileMark & { offset: number; fingerprint: string }): "complete" | "grown" | "replaced" {
    try {
      const { inode, size, modifiedMs } = this.#mark?.() ?? markOf(statSync(this.file));
      if (inode !== known.inode || size < known.size) return "replaced";
      if (size === known.size) return modifiedMs === known.modifiedMs ? "complete" : "replaced";
      return this.#mark === undefined && this.fingerprint(known.offset) === known.fingerprint
        ? "grown"
        : "replaced";
    } catch {
      return "replaced";
    }
  }

  /** Fingerprint of the bytes before an offset. In a file of more than some megabytes, it samples them. */
  fingerprint(until: number): string {
    if (this.#mark !== undefined) return "";
    const samples = Math.min(MAX_SAMPLES, Math.ceil(until / SAMPLE_BYTES));
    const room = Math.max(0, until - SAMPLE_BYTES);
    let sum = 0;
    for (let sample = 0; sample < samples; sample += 1) {
      const offset = Math.floor((room * sample) / Math.max(1, samples - 1));
      sum = crc32(readBytes(this, { offset, lengthBytes: Math.min(SAMPLE_BYTES, until - offset) }), sum);
    }
    return `${until}-${sum.toString(16)}`;
  }

  #open(): number {
    if (this.#fd < 0) {
      refusePipe(this.file);
      this.#fd = openSync(this.file, "r");
    }
    return this.#fd;
  }
}

/** Some milliseconds for each growth of a large file. */
const MAX_SAMPLES = 8;
const SAMPLE_BYTES = 1 << 20;

function markOf({ dev, ino, size, mtimeMs }: Stats): FileMark {
  return { inode: `${dev}:${ino}`, size, modifiedMs: mtimeMs };
}

function fieldsOf(entry: Entry, texts: readonly string[]): Field[] {
  const message = entry.type === "message" ? entry.message : undefined;
  if (message?.role === "user" || pinChange(entry) !== undefined) return texts.map(() => 0);
  if (message?.role !== "assistant") return texts.map(() => 2);
  const prose = new Set(contentBlocks(message.content).map(({ text }) => text));
  return texts.map((text) => (prose.has(text) ? 1 : 2));
}
