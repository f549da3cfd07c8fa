import { closeSync, fstatSync, openSync, type Stats, statSync } from "node:fs";
import { crc32 } from "node:zlib";
import { isRecord, SecretFilter } from "@bonsai-agent/messages";
import type { Entry } from "../entry.ts";
import { entryTexts } from "../entry-types.ts";
import { EntryHead, parseBytes, parseLine } from "../read/entry-head.ts";
import { chainedId, unnamedId } from "../read/entry-index.ts";
import { gluedEntries } from "../read/glued-entries.ts";
import { type HeaderReading, readHeader } from "../read/session-header.ts";
import { entryFrom } from "../read/sound-entry.ts";
import { readFrom, refusePipe } from "../store/jsonl-store.ts";
import { forEachLine, type Line, type LineSource, readBytes, WINDOW_BYTES } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";

/** A position in a session file: the beginning of a line. */
export interface FilePosition {
  offset: number;
  /** Number of the line, from 1. */
  line: number;
  /** Earlier lines that are not blank. */
  written: number;
}

export const FILE_START: FilePosition = { offset: 0, line: 1, written: 0 };

/** Identifies a session file, so that a replacement under the same name is detected. */
export interface FileMark {
  inode: string;
  size: number;
  modifiedMs: number;
  /** Fingerprint of the bytes read so far. */
  fingerprint: string;
}

/** Facts about an entry that a search needs. */
export interface EntryFacts {
  entryId: string;
  type: Entry["type"];
  /** Only for a message. */
  role?: string;
  /** Milliseconds since the epoch; 0 if the entry has no valid time. */
  timeMs: number;
  texts: readonly string[];
}

/** An entry before its line is parsed. Valid until the next one. */
export interface UnreadEntry {
  entryId: string;
  line: Line;
  /** Parses the line. Undefined if it contains no entry. */
  facts(secrets?: SecretFilter): EntryFacts | undefined;
}

/** One for all sources: lines are visited without a pause. */
const WINDOW = Buffer.allocUnsafeSlow(WINDOW_BYTES);

/** A session that is only read: a file, opened at the first need, or the store of an open session. */
export class SessionSource implements LineSource {
  /** Absolute path; empty for a session without a file. */
  readonly file: string;
  readonly #store: SessionStore | undefined;
  readonly #head = new EntryHead();
  #fd = -1;
  #header: HeaderReading | undefined;

  constructor(file: string, store?: SessionStore) {
    this.file = file;
    this.#store = store;
  }

  /** Size in bytes now. @throws what the file system throws */
  size(): number {
    return this.#store?.size() ?? fstatSync(this.#open()).size;
  }

  /** True if the file continues after a position, or cannot be read: then reading it reports why. */
  hasMore(read: FilePosition | undefined): boolean {
    if (this.#store !== undefined) return true;
    try {
      return statSync(this.file).size > (read?.offset ?? -1);
    } catch {
      return true;
    }
  }

  read(target: Uint8Array, offset: number): number {
    return this.#store?.read(target, offset) ?? readFrom(this.#open(), target, offset);
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** The header, read once. @throws BonsaiError `session_empty`, `not_a_session` */
  header(): HeaderReading {
    this.#header ??= readHeader(this);
    return this.#header;
  }

  /** Visits the entries from a position up to a byte, with the ids that the session itself gives them.
   * @param lastLine true if a last line without its newline counts
   * @returns the position after the last line that ended; `from` if none ended
   * @throws as `header`
   */
  visitEntries({
    from,
    until,
    lastLine,
    visit,
  }: {
    from: FilePosition;
    until: number;
    lastLine: boolean;
    visit: (entry: UnreadEntry) => void;
  }): FilePosition {
    this.header();
    const position = { ...from };
    const head = this.#head;
    forEachLine({
      store: this,
      window: WINDOW,
      from: from.offset,
      until,
      firstNumber: from.line,
      visit: (line) => {
        if (!line.ended && !lastLine) return;
        const kind = head.read(line, this);
        const glued = head.isSuspect(line, kind) ? gluedEntries(line, this) : undefined;
        for (const part of glued ?? []) {
          head.read(part, this);
          visit(this.#entry(part, "entry", position));
        }
        if (glued === undefined && (kind === "entry" || kind === "no_id") && !head.isCutOff)
          visit(this.#entry(line, kind, position));
        if (kind !== "blank") position.written += 1;
        if (!line.ended) return;
        position.offset = line.offset + line.lengthBytes + 1;
        position.line = line.number + 1;
      },
    });
    return position;
  }

  #entry(line: Line, kind: "entry" | "no_id", { written }: FilePosition): UnreadEntry {
    const head = this.#head;
    const namesPlace = kind === "entry" && (head.parentStart >= 0 || head.isRoot);
    const isChained = this.header().version === 1 && !namesPlace;
    const entryId = isChained ? chainedId(written) : kind === "no_id" ? unnamedId(line.number) : head.id;
    return { entryId, line, facts: (secrets) => this.#facts(parseLine(line, this), entryId, secrets) };
  }

  /** Reads one entry again. Undefined if it is gone, or the file cannot be read. */
  entryAt(
    { entryId, offset, lengthBytes }: { entryId: string; offset: number; lengthBytes: number },
    secrets: SecretFilter | undefined,
  ): EntryFacts | undefined {
    try {
      return this.#facts(parseBytes(readBytes(this, { offset, lengthBytes })), entryId, secrets);
    } catch {
      return undefined;
    }
  }

  /** @param secrets default: a filter that knows no keys */
  #facts(line: unknown, entryId: string, secrets = new SecretFilter()): EntryFacts | undefined {
    const parentId = isRecord(line) && typeof line.parentId === "string" ? line.parentId : null;
    const entry = entryFrom(line, { id: entryId, parentId, version: this.header().version });
    if (entry === undefined) return undefined;
    const role = entry.type === "message" ? entry.message.role : undefined;
    return {
      entryId,
      type: entry.type,
      ...(typeof role === "string" && { role }),
      timeMs: Date.parse(entry.timestamp) || 0,
      texts: secrets.values([...entryTexts(entry)]),
    };
  }

  /** @throws what the file system throws */
  mark({ offset }: FilePosition): FileMark {
    const stats = fstatSync(this.#open());
    const fingerprint = fingerprintOf(this, offset);
    return { inode: inodeOf(stats), size: stats.size, modifiedMs: stats.mtimeMs, fingerprint };
  }

  /** True if the file still begins with the bytes that were read when the mark was made. */
  matches(mark: FileMark & FilePosition): boolean {
    try {
      const stats = statSync(this.file);
      if (inodeOf(stats) !== mark.inode || stats.size < mark.size) return false;
      if (stats.size === mark.size) return stats.mtimeMs === mark.modifiedMs;
      return fingerprintOf(this, mark.offset) === mark.fingerprint;
    } catch {
      // The next reader of the file reports the error.
      return false;
    }
  }

  #open(): number {
    if (this.#fd < 0) {
      refusePipe(this.file);
      this.#fd = openSync(this.file, "r");
    }
    return this.#fd;
  }
}

function inodeOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

const SAMPLES = 8;
const SAMPLE_BYTES = 1024;

/** Fingerprint of a file up to a byte, made of samples that include the first and the last bytes. */
function fingerprintOf(source: LineSource, until: number): string {
  let sum = 0;
  const room = Math.max(0, until - SAMPLE_BYTES);
  for (let sample = 0; sample <= SAMPLES; sample += 1) {
    const offset = Math.floor((room * sample) / SAMPLES);
    sum = crc32(readBytes(source, { offset, lengthBytes: Math.min(SAMPLE_BYTES, until - offset) }), sum);
  }
  return `${until}-${sum.toString(16)}`;
}
