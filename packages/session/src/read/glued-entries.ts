import { isRecord } from "@bonsai-agent/messages";
import { type Line, type LineSource, readBytes } from "../store/line-reader.ts";
import { PARENT_KEY, parseBytes } from "./entry-head.ts";

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x5c, 0x7b, 0x7d];
/** Maximum number of entries to look for in one line. */
const MAX_TRIES = 200;

/** A place in a line's bytes. */
interface Part {
  start: number;
  end: number;
}

/**
 * Finds the whole entries of a damaged line: entries next to garbage, or joined by a lost line break. Returns each as a
 * line of its own. Returns undefined for a sound line, and for a line without a whole entry.
 * @param line one that is suspect, see `EntryHead.isSuspect`
 */
export function gluedEntries(line: Line, store: LineSource): Line[] | undefined {
  const bytes = line.whole ? line.bytes.subarray(line.start, line.end) : readBytes(store, line);
  if (!bytes.includes(PARENT_KEY) || parseBytes(bytes) !== undefined) return undefined;
  const parts = wholeEntries(bytes);
  if (parts.length === 0) return undefined;
  return parts.map(({ start, end }) => ({
    ...line,
    bytes,
    start,
    end,
    whole: true,
    offset: line.offset + start,
    lengthBytes: end - start,
  }));
}

/** Returns the whole entry at the beginning of a line with garbage after it. */
export function firstWholeEntry(bytes: Buffer): unknown {
  const [first] = wholeEntries(bytes);
  return first && parseBytes(bytes.subarray(first.start, first.end));
}

function wholeEntries(bytes: Buffer): Part[] {
  const parts: Part[] = [];
  let done = 0;
  let key = bytes.indexOf(PARENT_KEY);
  for (let tries = 0; key >= 0 && tries < MAX_TRIES; tries += 1) {
    const start = bytes.lastIndexOf('{"', key);
    const end = start < done ? -1 : objectEnd(bytes, start);
    if (end >= 0 && isEntry(parseBytes(bytes.subarray(start, end)))) {
      parts.push({ start, end });
      done = end;
    }
    key = bytes.indexOf(PARENT_KEY, Math.max(done, key + PARENT_KEY.length));
  }
  return parts;
}

/** Returns the place after the object that begins here; -1 if the object does not end. */
function objectEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  let isText = false;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText && byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) isText = !isText;
    else if (isText) continue;
    else if (byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE_BRACE && --depth === 0) return at + 1;
  }
  return -1;
}

/** Only entries have a parent. A message's blocks can have a type and an id too. */
function isEntry(value: unknown): boolean {
  if (!isRecord(value) || typeof value.type !== "string" || typeof value.id !== "string") return false;
  return value.parentId === null || typeof value.parentId === "string";
}
