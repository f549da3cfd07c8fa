import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { isRecord } from "@bonsai-agent/messages";
import type { NoticeLog } from "./notices.ts";

/** One object of a JSON Lines file. */
export interface JsonLine {
  /** Counted from 1; several objects can stand on one line. */
  line: number;
  value: Fields;
}

const NEWLINE = 0x0a;

/** The objects of a JSON Lines file in order. Skips blank lines. Works on bytes, so that a huge line is decoded only once. */
export function readJsonLines(path: string, notices: NoticeLog): JsonLine[] {
  const bytes = readFileSync(path);
  const lines: JsonLine[] = [];
  let line = 0;
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    line += 1;
    const { values, isWhole } = objectsOfLine(bytes.toString("utf8", start, end));
    for (const value of values) if (isRecord(value)) lines.push({ line, value });
    if (values.length > 1) notices.add("joined_records", line);
    if (!isWhole) notices.add(newline < 0 ? "torn_last_line" : "bad_line", line);
    start = end + 1;
  }
  return lines;
}

/** As `readJsonLines`, of the first and the last bytes of a file. Lines at the cuts are left out. */
export function readEndLines(path: string, { first, last }: { first: number; last: number }): JsonLine[] {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const linesBetween = (from: number, to: number) => {
      const bytes = Buffer.alloc(to - from);
      return bytes.toString("utf8", 0, readSync(file, bytes, 0, to - from, from)).split("\n");
    };
    const head = linesBetween(0, Math.min(first, size));
    const rest = size > first ? linesBetween(Math.max(first, size - last), size) : [];
    const lines = size > first ? [...head.slice(0, -1), ...rest.slice(1)] : head;
    return lines.flatMap((text, at) => objectsOfLine(text).values.map((value) => ({ line: at + 1, value })));
  } finally {
    closeSync(file);
  }
}

/** The object of a whole file; undefined for other files, such as JSON Lines. */
export function readJsonFile(path: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
    return isRecord(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The objects of a line. */
interface LineObjects {
  values: Fields[];
  /** False if a part of the line is no object or is cut off. */
  isWhole: boolean;
}

/**
 * Reads the objects of a line. Usually there is one, but two writers can lose the newline between their records, and a
 * killed writer leaves a torn record before the next one.
 */
export function objectsOfLine(line: string): LineObjects {
  // A crash can leave NULs.
  const text = line
    .replace(/^\uFEFF/, "")
    .replaceAll("\0", "")
    .trim();
  if (text === "") return { values: [], isWhole: true };
  const whole = parsed(text);
  if (isRecord(whole)) return { values: [whole], isWhole: true };
  return whole === undefined ? splitObjects(text) : { values: [], isWhole: false };
}

function splitObjects(text: string): LineObjects {
  const values: Fields[] = [];
  let isWhole = true;
  for (let at = nextWord(text, 0); at < text.length; ) {
    const object = objectAt(text, at);
    const value = object.isObject ? parsed(text.slice(at, object.end)) : swallowedRecord(text, object);
    isWhole &&= object.isObject && isRecord(value);
    if (isRecord(value)) values.push(value);
    at = isRecord(value) ? nextWord(text, object.end) : nextStart(text, at, object.end);
  }
  return { values, isWhole };
}

/**
 * The possible start of the next record after a torn one: at the error, or before it if the torn record ended within a
 * string.
 */
function nextStart(text: string, from: number, error: number): number {
  if (error >= text.length) return text.length;
  const brace = text.lastIndexOf('{"', error);
  if (brace > from && (brace === error || brace === error - 2)) return brace;
  const next = text.indexOf('{"', Math.max(error, from + 1));
  return next < 0 ? text.length : next;
}

/** The tokens of an object, or of the beginning of a torn one. */
interface ObjectTokens {
  /** After the object, or at the error. */
  end: number;
  isObject: boolean;
  /** The names of the outermost fields. */
  keys: ReadonlySet<string>;
  /** The start of the latest inner object, and its end. */
  inner: number;
  innerEnd: number;
}

/**
 * The record that became the value of a torn one, which was cut right before a value: `{"type":"user","message":{"type":…}`.
 * It ends at the error, and most fields of the torn record are fields of it too.
 */
function swallowedRecord(text: string, { end, keys, inner, innerEnd }: ObjectTokens): unknown {
  if (nextWord(text, innerEnd) < end) return undefined;
  const value = parsed(text.slice(inner, innerEnd));
  if (!isRecord(value)) return undefined;
  const shared = [...keys].filter((key) => Object.hasOwn(value, key));
  return shared.length > keys.size / 2 ? value : undefined;
}

/** Reads an object's tokens without building it. */
function objectAt(text: string, start: number): ObjectTokens {
  /** Places of the open brackets. */
  const open: number[] = [];
  const keys = new Set<string>();
  let [inner, innerEnd] = [start, start];
  const tokens = (end: number, isObject = false) => ({ end, isObject, keys, inner, innerEnd });
  let isKey = false;
  /** True if a value or key comes next, false for a separator. */
  let wantsValue = true;
  for (let at = start; at < text.length; at = nextWord(text, at)) {
    const token = text[at]!;
    if (token === "{" || token === "[") {
      if (!wantsValue || isKey || (open.length === 0 && token === "[")) return tokens(at);
      open.push(at);
      isKey = token === "{";
      at += 1;
    } else if (token === "}" || token === "]") {
      const opened = open.pop() ?? -1;
      if (text[opened] !== (token === "}" ? "{" : "[")) return tokens(at);
      at += 1;
      if (open.length === 0) return tokens(at, true);
      if (token === "}") [inner, innerEnd] = [opened, at];
      wantsValue = false;
      isKey = false;
    } else if (token === ",") {
      if (wantsValue) return tokens(at);
      wantsValue = true;
      isKey = text[open.at(-1) ?? -1] === "{";
      at += 1;
    } else {
      const end = wantsValue && open.length > 0 ? scalarEnd(text, at, isKey) : at;
      if (end === at) return tokens(at);
      if (isKey && open.length === 1) keys.add(text.slice(at + 1, end - 1));
      at = end;
      if (isKey) {
        at = nextWord(text, at);
        if (at >= text.length) break;
        if (text[at] !== ":") return tokens(at);
        at += 1;
        isKey = false;
      } else wantsValue = false;
    }
  }
  return tokens(text.length);
}

const LITERAL = /-?\d[\d.eE+-]*|true|false|null/y;

/** The end of the string, number or literal at `at`; `at` for none. Keys are strings. */
function scalarEnd(text: string, at: number, isKey: boolean): number {
  if (text[at] === '"') return stringEnd(text, at);
  if (isKey) return at;
  LITERAL.lastIndex = at;
  return LITERAL.test(text) ? LITERAL.lastIndex : at;
}

function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = quote;
    while (text[slashes - 1] === "\\") slashes -= 1;
    if ((quote - slashes) % 2 === 0) return quote + 1;
  }
  return text.length;
}

function nextWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A JSON object of another program, with unknown fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value at a path of names; undefined if a part of the path is missing. */
function valueAt(fields: Fields | undefined, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), fields);
}

export function stringAt(fields: Fields | undefined, ...path: string[]): string | undefined {
  const value = valueAt(fields, path);
  return typeof value === "string" ? value : undefined;
}

/** A finite number, else 0. */
export function numberAt(fields: Fields | undefined, ...path: string[]): number {
  const value = valueAt(fields, path);
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export function fieldsAt(fields: Fields | undefined, ...path: string[]): Fields | undefined {
  const value = valueAt(fields, path);
  return isRecord(value) ? value : undefined;
}

/** The objects of a list. Leaves out other values. */
export function listAt(fields: Fields | undefined, ...path: string[]): Fields[] {
  const value = valueAt(fields, path);
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The texts of a list. Leaves out other values. */
export function stringsAt(fields: Fields | undefined, ...path: string[]): string[] {
  const value = valueAt(fields, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The type of a record or part. */
export function typeOf(fields: Fields): string {
  return stringAt(fields, "type") ?? "untyped";
}

/** An id or a type as a key; `unknown` for other values. */
export function nameOf(value: unknown): string {
  return ["string", "number", "undefined"].includes(typeof value) ? String(value) : "unknown";
}

/** The time of a record in ISO 8601, see `isoTime`. */
export function timeAt(fields: Fields | undefined, ...path: string[]): string | undefined {
  return isoTime(valueAt(fields, path));
}

/** ISO 8601 of a date string or of milliseconds since the epoch; undefined for anything else. */
export function isoTime(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
