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
import type { Field } from "./ranking.ts";

/** A position in a session file: the beginning of a line. */
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
  /** By number of the text. */
  fields: readonly Field[];
  /** The arguments of a result's call, if the reader visited the call before. */
  called: string;
}

/** An entry before its line is parsed. Valid until the next one. */
export interface UnreadEntry {
  entryId: string;
  /** Number of the entry in the file, from 1. */
  place: number;
  line: Line;
  /** Parses the line. Undefined if it contains no entry. */
  facts(secrets?: SecretFilter): EntryFacts | undefined;
}

/** A longer line is not searched. */
const MAX_LINE_BYTES = 1 << 25;

/** The texts of an entry by field, with the call of a result. */
export function fieldTexts({ texts, fields, called }: EntryFacts): Map<Field, string> {
  const joined = new Map<Field, string>();
  const add = (field: Field, text: string) => joined.set(field, `${joined.get(field) ?? ""}${text}\n\n`);
  for (const [at, text] of texts.entries()) add(fields[at]!, text);
  if (called !== "") add(2, called);
  return joined;
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
  readonly #calls = new Map<string, string>();

  constructor(file: string, store?: SessionStore) {
    this.file = file;
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

  /** The header, read once. @throws BonsaiError `session_empty`, `not_a_session` */
  header(): HeaderReading {
    this.#header ??= readHeader(this);
    return this.#header;
  }

  /** Visits the entries from a position up to a byte, with the ids that the session itself gives them.
   * @param lastLine true if a last line counts although its end is lost. One without its newline counts if it is whole
   * @returns the position after the last line that was whole; `from` if none was
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
        const isWhole = line.ended || isRecord(parseLine(line, this));
        if (!isWhole && !lastLine) return;
        const kind = head.read(line, this);
        const glued = head.isSuspect(line, kind) ? gluedEntries(line, this) : undefined;
        for (const part of glued ?? []) {
          head.read(part, this);
          position.entries += 1;
          visit(this.#entry(part, "entry", position));
        }
        if (glued === undefined && (kind === "entry" || kind === "no_id") && !head.isCutOff) {
          position.entries += 1;
          visit(this.#entry(line, kind, position));
        }
        if (kind !== "blank") position.written += 1;
        if (!isWhole) return;
        position.offset = line.offset + line.lengthBytes + (line.ended ? 1 : 0);
        position.line = line.number + (line.ended ? 1 : 0);
      },
    });
    return position;
  }

  #entry(line: Line, kind: "entry" | "no_id", { written, entries }: FilePosition): UnreadEntry {
    const head = this.#head;
    const namesPlace = kind === "entry" && (head.parentStart >= 0 || head.isRoot);
    const isChained = this.header().version === 1 && !namesPlace;
    const entryId = isChained ? chainedId(written) : kind === "no_id" ? unnamedId(line.number) : head.id;
    const facts = (secrets?: SecretFilter) =>
      line.lengthBytes > MAX_LINE_BYTES ? undefined : this.#facts(parseLine(line, this), entryId, secrets);
    return { entryId, place: entries, line, facts };
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
    const texts = [...entryTexts(entry)];
    return {
      entryId,
      type: entry.type,
      ...(typeof role === "string" && { role }),
      timeMs: Date.parse(entry.timestamp) || 0,
      texts: secrets.values(texts),
      fields: fieldsOf(entry, texts),
      called: secrets.value(this.#called(entry)),
    };
  }

  /** Notes the calls of an answer. Returns the call of a result. */
  #called(entry: Entry): string {
    if (entry.type !== "message" || !isRecord(entry.message)) return "";
    const { message } = entry;
    for (const { id, arguments: args } of callsIn(message))
      this.#calls.set(id, jsonText(args).slice(0, MAX_CALL_CHARACTERS));
    return message.role === "toolResult" ? (this.#calls.get(message.toolCallId) ?? "") : "";
  }

  /** @throws what the file system throws */
  mark({ offset }: FilePosition): FileMark {
    const stats = fstatSync(this.#open());
    const fingerprint = fingerprintOf(this, offset);
    return { inode: inodeOf(stats), size: stats.size, modifiedMs: stats.mtimeMs, fingerprint };
  }

  /** Compares the file with the bytes that the mark recorded. */
  progress(mark: FileMark & FilePosition): "complete" | "grown" | "replaced" {
    try {
      const stats = statSync(this.file);
      if (inodeOf(stats) !== mark.inode || stats.size < mark.size) return "replaced";
      const isSame =
        stats.size === mark.size
          ? stats.mtimeMs === mark.modifiedMs
          : fingerprintOf(this, mark.offset) === mark.fingerprint;
      return !isSame ? "replaced" : stats.size > mark.offset ? "grown" : "complete";
    } catch {
      // The next reader of the file reports the error.
      return "replaced";
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

const MAX_CALL_CHARACTERS = 400;

/** The user's words and pins are 0, the agent's prose is 1, everything else 2. */
function fieldsOf(entry: Entry, texts: readonly string[]): Field[] {
  const message = entry.type === "message" ? entry.message : undefined;
  if (message?.role === "user" || pinChange(entry) !== undefined) return texts.map(() => 0);
  if (message?.role !== "assistant") return texts.map(() => 2);
  const prose = new Set(contentBlocks(message.content).map(({ text }) => text));
  return texts.map((text) => (prose.has(text) ? 1 : 2));
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
