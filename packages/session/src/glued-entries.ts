import { isRecord } from "@bonsai-agent/messages";
import { type EntryHead, type LineKind, parseBytes } from "./entry-head.ts";
import { type Line, type LineSource, readBytes } from "./line-reader.ts";

const PARENT_KEY = '"parentId"';
const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x5c, 0x7b, 0x7d];
/** A line with more parents is no row of entries. */
const MAX_TRIES = 200;

/** A place in a line's bytes. */
interface Part {
  start: number;
  end: number;
}

/**
 * The whole entries of a line that is not one entry: entries beside garbage, or glued to each other by a lost line break.
 * Each is a line of its own for its readers. Undefined for a line that is one entry, and where no entry is whole.
 * @param kind what `head` read in the line
 */
export function gluedEntries(
  line: Line,
  { kind, head, store }: { kind: LineKind; head: EntryHead; store: LineSource },
): Line[] | undefined {
  const isSuspect = kind === "damaged_line" || (kind === "entry" && (head.torn || hasTwoParents(line)));
  if (!isSuspect) return undefined;
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

/** Looks no further than the line's beginning where it is very long. */
function hasTwoParents(line: Line): boolean {
  const bytes = line.bytes.subarray(line.start, line.end);
  const first = bytes.indexOf(PARENT_KEY);
  return first >= 0 && bytes.includes(PARENT_KEY, first + PARENT_KEY.length);
}

/** The whole entry at the beginning of a line with garbage behind it. */
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

/** The place after the object that begins here; -1 where it does not end. */
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

/** Blocks of a message can have a type and an id, too, but no parent. */
function isEntry(value: unknown): boolean {
  if (!isRecord(value) || typeof value.type !== "string" || typeof value.id !== "string") return false;
  return value.parentId === null || typeof value.parentId === "string";
}
