import { type Fields, isFields } from "./fields.ts";

/** What a line of a JSON Lines file holds. */
export interface LineObjects {
  values: Fields[];
  /** False where something on the line is no object, or is cut off. */
  isWhole: boolean;
}

/**
 * The objects of a line. There should be one, but two writers can lose the newline between their
 * records, and a writer that was killed leaves a torn record in front of the next one.
 */
export function objectsOfLine(line: string): LineObjects {
  // A file that was extended over a crash can be padded with NULs.
  const text = line
    .replace(/^\uFEFF/, "")
    .replaceAll("\0", "")
    .trim();
  if (text === "") return { values: [], isWhole: true };
  const whole = parsed(text);
  if (isFields(whole)) return { values: [whole], isWhole: true };
  return whole === undefined ? splitObjects(text) : { values: [], isWhole: false };
}

function splitObjects(text: string): LineObjects {
  const values: Fields[] = [];
  let isWhole = true;
  for (let at = nextWord(text, 0); at < text.length; ) {
    const { end, isObject } = objectAt(text, at);
    const value = isObject ? parsed(text.slice(at, end)) : undefined;
    if (isFields(value)) {
      values.push(value);
      at = nextWord(text, end);
      continue;
    }
    isWhole = false;
    at = nextStart(text, at, end);
  }
  return { values, isWhole };
}

/**
 * Where the next record can begin after one that is torn: what stands at the error is the new record,
 * or is already behind its first brace and quote when the torn one ended within a string.
 */
function nextStart(text: string, from: number, error: number): number {
  if (error >= text.length) return text.length;
  const brace = text.lastIndexOf('{"', error);
  if (brace > from && (brace === error || brace === error - 2)) return brace;
  const next = text.indexOf('{"', Math.max(error, from + 1));
  return next < 0 ? text.length : next;
}

/** Reads an object's tokens without building it; `end` is behind it, or where it is no JSON any more. */
function objectAt(text: string, start: number): { end: number; isObject: boolean } {
  const open: string[] = [];
  let isKey = false;
  /** Which tokens may come next: a value (or key), or what stands behind one. */
  let wantsValue = true;
  for (let at = start; at < text.length; at = nextWord(text, at)) {
    const token = text[at]!;
    if (token === "{" || token === "[") {
      if (!wantsValue || isKey || (open.length === 0 && token === "[")) return { end: at, isObject: false };
      open.push(token);
      isKey = token === "{";
      at += 1;
    } else if (token === "}" || token === "]") {
      if (open.pop() !== (token === "}" ? "{" : "[")) return { end: at, isObject: false };
      at += 1;
      if (open.length === 0) return { end: at, isObject: true };
      wantsValue = false;
      isKey = false;
    } else if (token === ",") {
      if (wantsValue) return { end: at, isObject: false };
      wantsValue = true;
      isKey = open.at(-1) === "{";
      at += 1;
    } else {
      const end = wantsValue && open.length > 0 ? scalarEnd(text, at, isKey) : at;
      if (end === at) return { end: at, isObject: false };
      at = end;
      if (isKey) {
        at = nextWord(text, at);
        if (at >= text.length) break;
        if (text[at] !== ":") return { end: at, isObject: false };
        at += 1;
        isKey = false;
      } else wantsValue = false;
    }
  }
  return { end: text.length, isObject: false };
}

const LITERAL = /-?\d[\d.eE+-]*|true|false|null/y;

/** Behind the string, number or literal at `at`; `at` where there is none. Keys are strings. */
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
