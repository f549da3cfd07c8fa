import { type Line, type LineSource, readBytes } from "../store/line-reader.ts";

/** The kind of a line, judged by its beginning. */
export type LineKind = "entry" | "header" | "blank" | "no_id" | "damaged_line" | "nul_bytes" | "not_an_entry";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LETTER_N = 0x6e;

const UNKNOWN = -1;
const ABSENT = -2;
const NULL = -3;

/**
 * Finds `type`, `id` and `parentId` of a line without parsing its body: it walks the keys of the outermost object and skips
 * their values. If the bytes are not plain (escapes, a cut-off line, no object), it uses `JSON.parse`. One instance reads
 * many lines.
 */
export class EntryHead {
  /** Contains the values at the ranges below. */
  bytes: Buffer = Buffer.alloc(0);
  typeStart = UNKNOWN;
  typeEnd = UNKNOWN;
  idStart = UNKNOWN;
  idEnd = UNKNOWN;
  /** Negative if `parentId` is null or no string. */
  parentStart = UNKNOWN;
  parentEnd = UNKNOWN;
  /** True if the line does not end like an object: its place in the tree is known, its body is lost. */
  isCutOff = false;
  /** The plain string that was read last. */
  stringStart = UNKNOWN;
  stringEnd = UNKNOWN;
  /** The end of the scanned head in `bytes`, and the key that the scan read last. */
  #at = 0;
  #keyStart = 0;
  #keyEnd = 0;

  get type(): string {
    return this.bytes.toString("utf8", this.typeStart, this.typeEnd);
  }

  get id(): string {
    return this.bytes.toString("utf8", this.idStart, this.idEnd);
  }

  /** `undefined` if the line names neither null nor an id. */
  get parentId(): string | null | undefined {
    if (this.parentStart >= 0) return this.bytes.toString("utf8", this.parentStart, this.parentEnd);
    return this.parentStart === NULL ? null : undefined;
  }

  /** Reads the head of a line. The ranges are set for an entry, except `id` for `no_id`. */
  read(line: Line, store: LineSource): LineKind {
    const first = firstByteOfValue(line.bytes, line.start, line.end);
    if (first === line.end) return emptyKind(line);
    if (line.bytes[first] === OPEN_BRACE && this.#scan(line, first)) {
      this.isCutOff = lastByte(line, store) !== CLOSE_BRACE;
      return this.#kind();
    }
    return this.#parse(line, store);
  }

  /**
   * True for a line that may contain several entries, or an entry beside garbage.
   * @param kind of the line, as `read` returned it
   */
  isSuspect(line: Line, kind: LineKind): boolean {
    return kind === "damaged_line" || (kind === "entry" && (this.isCutOff || this.#hasSecondParent(line)));
  }

  /** True if the loaded part of the line names a parent after the head. */
  #hasSecondParent({ bytes, start, end }: Line): boolean {
    const from = this.bytes === bytes ? this.#at : start;
    for (let at = bytes.indexOf(PARENT_KEY_END, from); at >= 0 && at < end; ) {
      const keyEnd = at + PARENT_KEY_END.length;
      if (isKey(bytes, keyEnd - PARENT_KEY.length, keyEnd, PARENT_KEY)) return true;
      at = bytes.indexOf(PARENT_KEY_END, keyEnd);
    }
    return false;
  }

  #kind(): LineKind {
    return isKey(this.bytes, this.typeStart, this.typeEnd, SESSION) ? "header" : "entry";
  }

  /** True if the id has these characters. Faster than a string of it. */
  isNamed(id: string): boolean {
    // Characters beyond ASCII take several bytes.
    if (this.idEnd - this.idStart !== id.length) return this.id === id;
    for (let i = 0; i < id.length; i += 1)
      if (this.bytes[this.idStart + i] !== id.charCodeAt(i)) return false;
    return true;
  }

  /** True if `parentId` is null. */
  get isRoot(): boolean {
    return this.parentStart === NULL;
  }

  /**
   * Reads the role of a message, or the `customType` of an entry that has one.
   * @returns false if it does not follow the head and the time, or is no plain string
   */
  readDetail({ bytes, end }: Pick<Line, "bytes" | "end">): boolean {
    if (this.bytes !== bytes) return false;
    for (let keys = 0; keys < 2 && bytes[this.#skipSpace(bytes, end)] === COMMA; keys += 1) {
      this.#at += 1;
      if (!this.#readKey(bytes, end)) return false;
      if (this.#isAtKey(bytes, CUSTOM_TYPE)) return this.#readString(bytes, end);
      if (this.#isAtKey(bytes, MESSAGE)) {
        // A damaged entry of another type may have a message before its customType.
        if (!isKey(bytes, this.typeStart, this.typeEnd, MESSAGE)) return false;
        if (bytes[this.#at++] !== OPEN_BRACE) return false;
        return this.#readKey(bytes, end) && this.#isAtKey(bytes, ROLE) && this.#readString(bytes, end);
      }
      if (!this.#skipValue(bytes, end)) return false;
    }
    return false;
  }

  /** True if all three were found; false in doubt. */
  #scan({ bytes, end }: Pick<Line, "bytes" | "end">, openBrace: number): boolean {
    this.bytes = bytes;
    this.typeStart = this.idStart = this.parentStart = UNKNOWN;
    for (this.#at = openBrace + 1; ; this.#at += 1) {
      if (!this.#readKey(bytes, end) || !this.#value(bytes, end)) return false;
      if (this.typeStart >= 0 && this.idStart >= 0 && this.parentStart !== UNKNOWN) return true;
      if (bytes[this.#skipSpace(bytes, end)] !== COMMA || this.#at >= end) return false;
    }
  }

  /** Reads a plain key, up to where its value begins. */
  #readKey(bytes: Buffer, end: number): boolean {
    this.#keyStart = this.#skipSpace(bytes, end) + 1;
    if (bytes[this.#keyStart - 1] !== QUOTE) return false;
    this.#keyEnd = plainStringEnd(bytes, this.#keyStart, end);
    if (this.#keyEnd < 0) return false;
    this.#at = this.#keyEnd + 1;
    if (bytes[this.#skipSpace(bytes, end)] !== COLON) return false;
    this.#at += 1;
    this.#skipSpace(bytes, end);
    return true;
  }

  #isAtKey(bytes: Buffer, key: Buffer): boolean {
    return isKey(bytes, this.#keyStart, this.#keyEnd, key);
  }

  #value(bytes: Buffer, end: number): boolean {
    if (this.#isAtKey(bytes, TYPE)) {
      if (!this.#readString(bytes, end)) return false;
      this.typeStart = this.stringStart;
      this.typeEnd = this.stringEnd;
      return true;
    }
    if (this.#isAtKey(bytes, ID)) {
      if (!this.#readString(bytes, end)) return false;
      this.idStart = this.stringStart;
      this.idEnd = this.stringEnd;
      return true;
    }
    if (!this.#isAtKey(bytes, PARENT_ID)) return this.#skipValue(bytes, end);
    if (bytes[this.#at] === LETTER_N) {
      this.parentStart = NULL;
      return this.#skipValue(bytes, end);
    }
    if (!this.#readString(bytes, end)) return false;
    this.parentStart = this.stringStart;
    this.parentEnd = this.stringEnd;
    return true;
  }

  /** Reads a plain string. Returns false if there is none here. */
  #readString(bytes: Buffer, end: number): boolean {
    if (bytes[this.#at] !== QUOTE) return false;
    const close = plainStringEnd(bytes, this.#at + 1, end);
    if (close < 0) return false;
    this.stringStart = this.#at + 1;
    this.stringEnd = close;
    this.#at = close + 1;
    return true;
  }

  #skipSpace(bytes: Buffer, end: number): number {
    while (this.#at < end && bytes[this.#at]! <= 0x20) this.#at += 1;
    return this.#at;
  }

  #skipValue(bytes: Buffer, end: number): boolean {
    let depth = 0;
    for (; this.#at < end; this.#at += 1) {
      const byte = bytes[this.#at]!;
      if (byte === QUOTE) {
        this.#at = stringEnd(bytes, this.#at + 1, end);
        if (this.#at < 0) return false;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === 0) return true;
        depth -= 1;
      } else if (byte === COMMA && depth === 0) return true;
    }
    return false;
  }

  #parse(line: Line, store: LineSource): LineKind {
    const value = parseLine(line, store);
    if (value === undefined) return "damaged_line";
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "not_an_entry";
    const { type, id, parentId } = value as Record<string, unknown>;
    if (typeof type !== "string") return "not_an_entry";
    if (type === "session") return "header";
    this.isCutOff = false;
    this.#hold(type, id, parentId);
    return typeof id === "string" ? "entry" : "no_id";
  }

  /** Stores parsed values like scanned ones, so that both are read in the same way. */
  #hold(type: string, id: unknown, parentId: unknown): void {
    const parts = [type, typeof id === "string" ? id : "", typeof parentId === "string" ? parentId : ""];
    this.bytes = Buffer.from(parts.join(""));
    this.typeStart = 0;
    this.typeEnd = this.idStart = Buffer.byteLength(parts[0]!);
    this.idEnd = this.parentStart = this.idStart + Buffer.byteLength(parts[1]!);
    this.parentEnd = this.bytes.length;
    if (typeof parentId !== "string") this.parentStart = parentId === null ? NULL : ABSENT;
  }
}

/** The value of a line; undefined if it is no JSON. Skips a byte-order mark and zero bytes before it. */
export function parseLine(line: Line, store: LineSource): unknown {
  const bytes = line.whole ? line.bytes.subarray(line.start, line.end) : readBytes(store, line);
  return parseBytes(bytes);
}

/** As `parseLine`, for bytes at hand. */
export function parseBytes(bytes: Buffer): unknown {
  const start = firstByteOfValue(bytes, 0, bytes.length);
  let end = bytes.length;
  while (end > start && bytes[end - 1]! <= 0x20) end -= 1;
  if (!mayBeJson(bytes, start, end)) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8", start, end));
  } catch {
    // No JSON, or longer than a string can be. The callers report the line with its number.
    return undefined;
  }
}

const SESSION = Buffer.from("session");
const TYPE = Buffer.from("type");
const ID = Buffer.from("id");
const PARENT_ID = Buffer.from("parentId");
export const PARENT_KEY = Buffer.from('"parentId"');
/** Rarer in texts than the whole key's first byte, so that the search for it is fast. */
const PARENT_KEY_END = Buffer.from('Id"');
const MESSAGE = Buffer.from("message");
const ROLE = Buffer.from("role");
const CUSTOM_TYPE = Buffer.from("customType");

/** True if a range has these bytes. Faster than a string of it. */
export function isKey(bytes: Buffer, start: number, end: number, key: Buffer): boolean {
  if (end - start !== key.length) return false;
  for (let i = 0; i < key.length; i += 1) if (bytes[start + i] !== key[i]) return false;
  return true;
}

/** The closing quote of a string; -1 without one. */
function stringEnd(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}

/** As `stringEnd`; also -1 for a string with escapes or control characters. */
function plainStringEnd(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH || byte < 0x20) return -1;
  }
  return -1;
}

/** Skips white space, zero bytes that a crash left, and a byte-order mark. */
function firstByteOfValue(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at]! <= 0x20) at += 1;
  if (bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf && at + 3 <= end) at += 3;
  while (at < end && bytes[at]! <= 0x20) at += 1;
  return at;
}

function emptyKind(line: Line): LineKind {
  const zero = line.bytes.indexOf(0, line.start);
  return zero >= 0 && zero < line.end ? "nul_bytes" : "blank";
}

function lastByte(line: Line, store: LineSource): number {
  if (!line.whole) return lastByteStored(line, store);
  let at = line.end - 1;
  while (at > line.start && line.bytes[at]! <= 0x20) at -= 1;
  return line.bytes[at]!;
}

function lastByteStored(line: Line, store: LineSource): number {
  const lengthBytes = Math.min(64, line.lengthBytes);
  const tail = readBytes(store, { offset: line.offset + line.lengthBytes - lengthBytes, lengthBytes });
  const text = tail.toString("latin1").trimEnd();
  return text.charCodeAt(text.length - 1);
}

const MAX_SCALAR_BYTES = 400;
/** The first byte of a list's item, or the end of an empty list. */
const ITEM_STARTS = Buffer.from('"{[]-0123456789tfn');
const SCALAR = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/**
 * False if the bytes from `start` to `end`, both without white space, are certainly no JSON. A look takes a hundredth of
 * the time of a failed `JSON.parse`, and a file can be a million lines of garbage.
 */
export function mayBeJson(bytes: Buffer, start: number, end: number): boolean {
  const [first, last] = [bytes[start]!, bytes[end - 1]];
  if (first === QUOTE) return last === QUOTE && end - start > 1;
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET)
    return end - start <= MAX_SCALAR_BYTES && SCALAR.test(bytes.toString("latin1", start, end));
  let next = start + 1;
  while (bytes[next]! <= 0x20) next += 1;
  if (first === OPEN_BRACKET) return last === CLOSE_BRACKET && ITEM_STARTS.includes(bytes[next]!);
  return last === CLOSE_BRACE && (bytes[next] === QUOTE || next === end - 1);
}
