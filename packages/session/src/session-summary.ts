import { closeSync, fstatSync, openSync } from "node:fs";
import { BonsaiError, isRecord, typedText } from "@bonsai-agent/messages";
import { customTypes } from "./entry.ts";
import { readSessionBlurb, type SessionBlurb } from "./own-entries.ts";
import { parseBytes, parseLine } from "./read/entry-head.ts";
import { readHeader } from "./read/session-header.ts";
import { readFrom } from "./store/jsonl-store.ts";
import { forEachLine, type Line, type LineSource, readBytes } from "./store/line-reader.ts";

/** A session's row in a list, made without parsing its history. */
export interface SessionSummary {
  /** Absolute path. */
  file: string;
  id: string;
  cwd: string;
  /** Format version of the file: 1, 2 or 3; a higher one opens read-only. */
  version: number;
  /** The latest name; undefined if there is none, or it was cleared. */
  name?: string;
  /** The beginning of the first user message, on one line; undefined before there is one. */
  firstWords?: string;
  /** Milliseconds since the epoch, as `lastActivityMs`. */
  createdMs: number;
  /** The time of the last line, or of the file if that line is damaged. A fork is never older than its creation. */
  lastActivityMs: number;
  bytes: number;
  /** Lines after the header, including damaged ones. */
  lines: number;
  /** Absolute path of the origin of a fork. */
  parentSession?: string;
  /** The topic and the changed files, if the session stores them. */
  digest?: SessionBlurb;
}

/** The reason why a file of a session folder is not in the list. */
export type SkipReason = "empty" | "not a session" | "unreadable";

const FIRST_WORDS_CHARACTERS = 120;
const TYPE_PREFIX = '{"type":"';
const INFO_PREFIX = Buffer.from(`${TYPE_PREFIX}session_info"`);
const ANY_INFO = Buffer.from('"session_info"');
/** The head of a line: its timestamp comes before the message. */
const LINE_HEAD_BYTES = 512;
const CUSTOM_PREFIX = Buffer.from(`${TYPE_PREFIX}custom",`);
const BLURB_TYPE = Buffer.from(`"customType":"${customTypes.sessionBlurb}"`);
/** Maximum size of a line with a blurb. */
const MAX_BLURB_BYTES = 64 * 1024;
const CARRIAGE_RETURN = 13;
const [LETTER_T, LETTER_S, LETTER_C, COLON] = [0x74, 0x73, 0x63, 0x3a];

/**
 * Reads a session's row.
 * @param window memory for reading, see `forEachLine`
 * @throws what the file system throws
 */
export function summarizeSession(file: string, window: Buffer): SessionSummary | SkipReason {
  const fd = openSync(file, "r");
  try {
    const { size: bytes, mtimeMs } = fstatSync(fd);
    const source = {
      file,
      size: () => bytes,
      read: (to: Uint8Array, from: number) => readFrom(fd, to, from),
    };
    const { header, version, invalidFields } = readHeader(source);
    // Without a header there is no id.
    if (header.id === "unknown") return "not a session";
    const seen = new SeenLines(source);
    forEachLine({ store: source, window, from: 0, until: bytes, visit: (line) => seen.add(line) });
    const { id, cwd, parentSession } = header;
    const createdMs = invalidFields.includes("timestamp") ? mtimeMs : Date.parse(header.timestamp);
    const lastMs = seen.lastTimeMs() ?? mtimeMs;
    const lastActivityMs = parentSession === undefined ? lastMs : Math.max(createdMs, lastMs);
    const { name, firstWords } = seen;
    const digest = seen.blurb();
    return {
      ...{ file, id, cwd, version },
      ...(name !== undefined && { name }),
      ...(firstWords !== undefined && { firstWords }),
      ...{ createdMs, lastActivityMs, bytes, lines: seen.count - 1 },
      ...(parentSession !== undefined && { parentSession }),
      ...(digest !== undefined && { digest }),
    };
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    return error.code === "session_empty" ? "empty" : "not a session";
  } finally {
    closeSync(fd);
  }
}

/**
 * One pass over a file's lines. Writers put `type` first, so a line's first bytes tell its type. Only a line with another
 * order of keys is searched as a whole, and only few lines are parsed.
 */
class SeenLines {
  readonly #source: LineSource;
  /** Lines that are not blank. */
  count = 0;
  name: string | undefined;
  firstWords: string | undefined;
  /** Changed in place: a new object for each line takes a tenth longer. */
  readonly #last = { offset: 0, lengthBytes: 0 };
  #latestBlurb: { offset: number; lengthBytes: number } | undefined;

  constructor(source: LineSource) {
    this.#source = source;
  }

  add(line: Line): void {
    const { offset, lengthBytes } = line;
    if (lengthBytes === 1 && line.bytes[line.start] === CARRIAGE_RETURN) return;
    this.count += 1;
    this.#last.offset = offset;
    this.#last.lengthBytes = lengthBytes;
    if (this.count === 1) return;
    this.firstWords ??= userWords(parseLine(line, this.#source));
    if (isSessionInfo(line)) this.#setName(parseLine(line, this.#source));
    else if (isBlurb(line)) this.#latestBlurb = { offset, lengthBytes };
  }

  lastTimeMs(): number | undefined {
    const { offset, lengthBytes } = this.#last;
    const head = readBytes(this.#source, { offset, lengthBytes: Math.min(LINE_HEAD_BYTES, lengthBytes) });
    const ms = Date.parse(/"timestamp":"([^"]+)"/.exec(head.toString("latin1"))?.[1] ?? "");
    return Number.isNaN(ms) ? undefined : ms;
  }

  blurb(): SessionBlurb | undefined {
    const line = this.#latestBlurb && parseBytes(readBytes(this.#source, this.#latestBlurb));
    return isRecord(line) ? readSessionBlurb(line.data) : undefined;
  }

  #setName(line: unknown): void {
    if (!isRecord(line) || line.type !== "session_info") return;
    this.name = (typeof line.name === "string" && line.name.trim()) || undefined;
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

/** Only Bonsai writes blurbs, so their lines begin like its other lines. */
function isBlurb({ bytes, start, end, lengthBytes }: Line): boolean {
  if (bytes[start + TYPE_PREFIX.length] !== LETTER_C || lengthBytes > MAX_BLURB_BYTES) return false;
  if (bytes.compare(CUSTOM_PREFIX, 0, CUSTOM_PREFIX.length, start, start + CUSTOM_PREFIX.length) !== 0)
    return false;
  return bytes.subarray(start, Math.min(end, start + LINE_HEAD_BYTES)).includes(BLURB_TYPE);
}

/** The beginning of a user's message, on one line; undefined for any other line of a session file. */
export function userWords(line: unknown): string | undefined {
  if (!isRecord(line) || !isRecord(line.message) || line.message.role !== "user") return undefined;
  const words = typedText(line.message).replaceAll(/\s+/g, " ").trim();
  return words === ""
    ? undefined
    : [...words.slice(0, 2 * FIRST_WORDS_CHARACTERS)].slice(0, FIRST_WORDS_CHARACTERS).join("");
}
