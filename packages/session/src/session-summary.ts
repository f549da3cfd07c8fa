import { closeSync, fstatSync, openSync } from "node:fs";
import { isRecord, typedText } from "@bonsai-agent/messages";
import { customTypes } from "./entry.ts";
import { parseBytes, parseLine } from "./read/entry-head.ts";
import { readFrom } from "./store/jsonl-store.ts";
import { forEachLine, type Line, type LineSource, readBytes } from "./store/line-reader.ts";

/** A file that was edited or written, with the lines that were added and removed in all. */
export interface ChangedLines {
  path: string;
  added: number;
  removed: number;
}

/** The topic of a session and its changed files, as of the latest change. */
export interface SessionBlurb {
  /** At most 400 characters; empty if there is none. */
  summary: string;
  /** Files that were changed, those that are not listed included. */
  fileCount: number;
  /** Lines, over all files. */
  added: number;
  removed: number;
  /** The latest changes, the last one first. */
  files: ChangedLines[];
}

/** A stored digest, as far as it makes sense; undefined for what is none. */
export function readSessionBlurb(data: unknown): SessionBlurb | undefined {
  if (!isRecord(data)) return undefined;
  const { summary, fileCount, added, removed, files } = data;
  if (!isCount(fileCount) || !isCount(added) || !isCount(removed)) return undefined;
  return {
    summary: typeof summary === "string" ? summary : "",
    fileCount,
    added,
    removed,
    files: Array.isArray(files) ? files.filter(isChangedLines) : [],
  };
}

/** True for stored changes of a file that make sense. */
export function isChangedLines(value: unknown): value is ChangedLines {
  return isRecord(value) && typeof value.path === "string" && isCount(value.added) && isCount(value.removed);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The line of one session in a list, made without parsing its history. */
export interface SessionSummary {
  /** Absolute path. */
  file: string;
  id: string;
  cwd: string;
  /** Format version of the file: 1, 2 or 3; a higher one opens read-only. */
  version: number;
  /** The latest name that was given; undefined when there is none, or it was cleared. */
  name?: string;
  /** How the first user message begins, on one line; undefined before there is one. */
  firstWords?: string;
  /** Milliseconds since the epoch, as `lastActivityMs`. */
  createdMs: number;
  /** The time of the last line; of the file, where that line is damaged. A fork's is never older than the fork. */
  lastActivityMs: number;
  bytes: number;
  /** Lines after the header, damaged ones counted in. */
  lines: number;
  /** Absolute path of the origin of a fork. */
  parentSession?: string;
  /** The topic and the changed files, if the session stores them. */
  digest?: SessionBlurb;
}

/** Why a file of a session folder is not in the list. */
export type SkipReason = "empty" | "not a session" | "unreadable";

const FIRST_WORDS_CHARACTERS = 120;
const TYPE_PREFIX = '{"type":"';
const INFO_PREFIX = Buffer.from(`${TYPE_PREFIX}session_info"`);
const ANY_INFO = Buffer.from('"session_info"');
/** A timestamp stands before the message, so a line's head shows it. */
const LINE_HEAD_BYTES = 512;
const CUSTOM_PREFIX = Buffer.from(`${TYPE_PREFIX}custom",`);
const BLURB_TYPE = Buffer.from(`"customType":"${customTypes.sessionBlurb}"`);
/** Maximum size of a blurb: nobody writes a larger one. */
const MAX_BLURB_BYTES = 64 * 1024;
const CARRIAGE_RETURN = 13;
const [LETTER_T, LETTER_S, LETTER_C, COLON] = [0x74, 0x73, 0x63, 0x3a];

/**
 * Reads what a list shows of one file.
 * @param window memory for reading, see `forEachLine`
 * @throws what the file system throws.
 */
export function summarizeSession(file: string, window: Buffer): SessionSummary | SkipReason {
  const fd = openSync(file, "r");
  try {
    const { size, mtimeMs } = fstatSync(fd);
    const source: LineSource = { read: (target, offset) => readFrom(fd, target, offset) };
    const seen = new FileSummary(source);
    forEachLine({ store: source, window, from: 0, until: size, visit: (line) => seen.see(line) });
    return seen.summary({ file, bytes: size, modifiedMs: mtimeMs });
  } finally {
    closeSync(fd);
  }
}

interface SeenHeader {
  id: string;
  timestamp?: unknown;
  cwd?: unknown;
  version?: unknown;
  parentSession?: unknown;
}

/**
 * One pass over a file's lines. Writers put `type` first, so a look at a line's first bytes tells what it is;
 * only a line with another order of keys is searched as a whole, and only the few that matter are parsed.
 */
class FileSummary {
  readonly #source: LineSource;
  #header: SeenHeader | undefined;
  #name: string | undefined;
  #firstWords: string | undefined;
  #lines = 0;
  #lastOffset = 0;
  #lastBytes = 0;
  #latestBlurb: { offset: number; lengthBytes: number } | undefined;

  constructor(source: LineSource) {
    this.#source = source;
  }

  see(line: Line): void {
    if (line.lengthBytes === 1 && line.bytes[line.start] === CARRIAGE_RETURN) return;
    this.#lines++;
    if (this.#lines === 1) this.#header = asHeader(parseLine(line, this.#source));
    else if (this.#header !== undefined) this.#seeEntry(line);
    this.#lastOffset = line.offset;
    this.#lastBytes = line.lengthBytes;
  }

  #seeEntry(line: Line): void {
    this.#firstWords ??= userWords(parseLine(line, this.#source));
    if (isSessionInfo(line)) this.#seeName(parseLine(line, this.#source));
    else if (isBlurb(line)) this.#latestBlurb = { offset: line.offset, lengthBytes: line.lengthBytes };
  }

  summary(file: { file: string; bytes: number; modifiedMs: number }): SessionSummary | SkipReason {
    const header = this.#header;
    if (header === undefined) return this.#lines === 0 ? "empty" : "not a session";
    const createdMs = timeMs(header.timestamp) ?? file.modifiedMs;
    const lastMs = this.#lastTimeMs() ?? file.modifiedMs;
    const blurb = this.#blurb();
    const { parentSession } = header;
    const isFork = typeof parentSession === "string";
    return {
      file: file.file,
      id: header.id,
      cwd: typeof header.cwd === "string" ? header.cwd : "",
      version: typeof header.version === "number" ? header.version : 1,
      ...(this.#name === undefined ? {} : { name: this.#name }),
      ...(this.#firstWords === undefined ? {} : { firstWords: this.#firstWords }),
      createdMs,
      lastActivityMs: isFork ? Math.max(createdMs, lastMs) : lastMs,
      bytes: file.bytes,
      lines: this.#lines - 1,
      ...(isFork ? { parentSession } : {}),
      ...(blurb === undefined ? {} : { digest: blurb }),
    };
  }

  #lastTimeMs(): number | undefined {
    const lengthBytes = Math.min(LINE_HEAD_BYTES, this.#lastBytes);
    const head = readBytes(this.#source, { offset: this.#lastOffset, lengthBytes });
    return timeMs(/"timestamp":"([^"]+)"/.exec(head.toString("latin1"))?.[1]);
  }

  #blurb(): SessionBlurb | undefined {
    const line = this.#latestBlurb && parseBytes(readBytes(this.#source, this.#latestBlurb));
    return isRecord(line) ? readSessionBlurb(line.data) : undefined;
  }

  #seeName(line: unknown): void {
    if (!isRecord(line) || line.type !== "session_info") return;
    this.#name = (typeof line.name === "string" && line.name.trim()) || undefined;
  }
}

function isSessionInfo({ bytes, start, end }: Line): boolean {
  // An object starts with `{"type":"`: the tenth byte tells most lines apart, an `s` is looked at closer.
  if (bytes[start + 2] === LETTER_T && bytes[start + 7] === COLON) {
    if (bytes[start + TYPE_PREFIX.length] !== LETTER_S) return false;
    return bytes.compare(INFO_PREFIX, 0, INFO_PREFIX.length, start, start + INFO_PREFIX.length) === 0;
  }
  return bytes.subarray(start, end).includes(ANY_INFO);
}

/** Blurbs are written by nobody but this program, so their line begins as it writes lines. */
function isBlurb({ bytes, start, end, lengthBytes }: Line): boolean {
  if (bytes[start + TYPE_PREFIX.length] !== LETTER_C || lengthBytes > MAX_BLURB_BYTES) return false;
  if (bytes.compare(CUSTOM_PREFIX, 0, CUSTOM_PREFIX.length, start, start + CUSTOM_PREFIX.length) !== 0)
    return false;
  return bytes.subarray(start, Math.min(end, start + LINE_HEAD_BYTES)).includes(BLURB_TYPE);
}

function asHeader(line: unknown): SeenHeader | undefined {
  return isRecord(line) && line.type === "session" && typeof line.id === "string"
    ? (line as unknown as SeenHeader)
    : undefined;
}

function userWords(line: unknown): string | undefined {
  if (!isRecord(line) || !isRecord(line.message) || line.message.role !== "user") return undefined;
  const words = typedText(line.message).replaceAll(/\s+/g, " ").trim();
  return words === ""
    ? undefined
    : [...words.slice(0, 2 * FIRST_WORDS_CHARACTERS)].slice(0, FIRST_WORDS_CHARACTERS).join("");
}

function timeMs(timestamp: unknown): number | undefined {
  const ms = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
