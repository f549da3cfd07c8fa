import type { SessionStore } from "./store.ts";

/** One line as the readers hand it out. The object and its bytes are reused: valid until the next line. */
export interface Line {
  /** Holds the line from `start` to `end`; only its beginning when `whole` is false. */
  bytes: Buffer;
  start: number;
  end: number;
  whole: boolean;
  /** Place of the line in the store, without its newline. */
  offset: number;
  lengthBytes: number;
  /** From 1; 0 where it is not known (reading backwards). */
  number: number;
  /** False for a last line without its newline. */
  ended: boolean;
}

/** Maximum bytes of a window. A longer line is visited by its beginning. */
export const WINDOW_BYTES = 1 << 18;
/** Enough for most lines. */
const FIRST_WINDOW_BYTES = 1 << 12;
const NEWLINE = 10;

function emptyLine(): Line {
  const bytes = Buffer.alloc(0);
  return { bytes, start: 0, end: 0, whole: true, offset: 0, lengthBytes: 0, number: 0, ended: true };
}

/** The source of lines: a store, or a file that is only read. */
export type LineSource = Pick<SessionStore, "read">;

/** Reads a whole range of the store into new memory. */
export function readBytes(store: LineSource, range: { offset: number; lengthBytes: number }): Buffer {
  const bytes = Buffer.allocUnsafe(range.lengthBytes);
  return bytes.subarray(0, store.read(bytes, range.offset));
}

/**
 * Visits the lines from `from` up to `until`, in order. Counts empty lines, but does not visit them. Time is linear in the
 * bytes, and memory constant for lines of any length.
 * @returns the number of ended lines.
 */
export function forEachLine(range: {
  store: LineSource;
  from: number;
  until: number;
  /** Number of the first line; default 1. */
  firstNumber?: number;
  /** Memory of `WINDOW_BYTES` for callers that read many files: new memory takes longer than reading a small file. */
  window?: Buffer;
  visit: (line: Line) => void;
}): number {
  const { store, until, visit, firstNumber = 1 } = range;
  const window = range.window ?? Buffer.allocUnsafe(Math.min(WINDOW_BYTES, Math.max(0, until - range.from)));
  const line = emptyLine();
  line.number = firstNumber;
  for (let offset = range.from; offset < until; ) {
    const asked = Math.min(window.length, until - offset);
    const bytes = window.subarray(0, store.read(window.subarray(0, asked), offset));
    if (bytes.length === 0) break;
    line.bytes = bytes;
    const isLast = offset + bytes.length >= until || bytes.length < asked;
    const visitedBytes = visitWindow(line, { offset, isLast, visit });
    if (isLast) break;
    offset += visitedBytes;
    if (visitedBytes > 0) continue;
    // A line that is longer than the window is visited by its beginning.
    const end = newlineAfter(store, { from: offset + bytes.length, until });
    line.whole = false;
    line.ended = end < until;
    place(line, { start: 0, end: bytes.length, offset });
    line.lengthBytes = end - offset;
    visit(line);
    line.number += line.ended ? 1 : 0;
    offset = end + 1;
  }
  return line.number - firstNumber;
}

/** Visits the lines that end in the window, and the last line of all. Returns the bytes of the ended lines. */
function visitWindow(
  line: Line,
  { offset, isLast, visit }: { offset: number; isLast: boolean; visit: (line: Line) => void },
): number {
  const { bytes } = line;
  let start = 0;
  line.whole = true;
  line.ended = true;
  for (let newline = bytes.indexOf(NEWLINE); newline >= 0; newline = bytes.indexOf(NEWLINE, start)) {
    if (newline > start) {
      place(line, { start, end: newline, offset: offset + start });
      visit(line);
    }
    line.number += 1;
    start = newline + 1;
    // Earlier versions wrote a blank line after each line: no search for those.
    while (bytes[start] === NEWLINE) {
      line.number += 1;
      start += 1;
    }
  }
  if (isLast && start < bytes.length) {
    line.ended = false;
    place(line, { start, end: bytes.length, offset: offset + start });
    visit(line);
  }
  return start;
}

function place(line: Line, at: { start: number; end: number; offset: number }): void {
  line.start = at.start;
  line.end = at.end;
  line.offset = at.offset;
  line.lengthBytes = at.end - at.start;
}

function newlineAfter(store: LineSource, range: { from: number; until: number }): number {
  const window = Buffer.allocUnsafe(Math.min(WINDOW_BYTES, range.until - range.from));
  for (let offset = range.from; offset < range.until; ) {
    const count = store.read(window.subarray(0, Math.min(window.length, range.until - offset)), offset);
    if (count === 0) break;
    const newline = window.subarray(0, count).indexOf(NEWLINE);
    if (newline >= 0) return offset + newline;
    offset += count;
  }
  return range.until;
}

/** Walks the lines from the end towards the start. Each byte is read at most twice. */
export class BackwardLines {
  readonly #store: SessionStore;
  /** The lines from here on were returned. */
  #end: number;
  #ended: boolean;
  /** The bytes at `#windowOffset`, in the memory of all windows. */
  #window: Buffer = Buffer.alloc(0);
  #memory = Buffer.alloc(0);
  #windowOffset: number;
  #windowBytes = FIRST_WINDOW_BYTES;
  readonly #line = emptyLine();

  constructor(store: SessionStore, end: number = store.size()) {
    this.#store = store;
    this.#end = end;
    this.#windowOffset = end;
    this.#ended = false;
  }

  /** The next line towards the start that is not empty; undefined at the start. */
  previous(): Line | undefined {
    while (this.#end > 0) {
      const newline = this.#newlineBefore(this.#end);
      const range = { offset: newline + 1, lengthBytes: this.#end - newline - 1 };
      const ended = this.#ended;
      this.#end = Math.max(newline, 0);
      this.#ended = true;
      if (range.lengthBytes > 0) return this.#lineAt(range, ended);
    }
    return undefined;
  }

  /** Skips lines without these bytes, which are few and contain no newline. */
  skipLinesWithout(bytes: Buffer): void {
    if (bytes.length > FIRST_WINDOW_BYTES / 2) return;
    for (;;) {
      const last = this.#end - this.#windowOffset - bytes.length;
      const at = last < 0 ? -1 : this.#window.lastIndexOf(bytes, last);
      if (at >= 0) {
        const from = this.#windowOffset + at;
        this.#end = newlineAfter(this.#store, { from, until: this.#end });
        return;
      }
      if (this.#windowOffset === 0) break;
      // Bytes that lie in two windows are found too.
      this.#loadWindowBefore(Math.min(this.#end, this.#windowOffset + bytes.length - 1));
    }
    this.#end = 0;
  }

  #lineAt(range: { offset: number; lengthBytes: number }, ended: boolean): Line {
    const line = this.#line;
    line.offset = range.offset;
    line.lengthBytes = range.lengthBytes;
    line.ended = ended;
    line.start = range.offset - this.#windowOffset;
    line.end = line.start + range.lengthBytes;
    line.bytes = this.#window;
    line.whole = true;
    if (line.start >= 0 && line.end <= this.#window.length) return line;
    const lengthBytes = Math.min(range.lengthBytes, WINDOW_BYTES);
    line.bytes = readBytes(this.#store, { offset: range.offset, lengthBytes });
    line.start = 0;
    line.end = lengthBytes;
    line.whole = lengthBytes === range.lengthBytes;
    return line;
  }

  /** Offset of the last newline before `end`; -1 for none. */
  #newlineBefore(end: number): number {
    let before = end;
    for (;;) {
      const at = before - this.#windowOffset;
      const newline = at > 0 ? this.#window.lastIndexOf(NEWLINE, at - 1) : -1;
      if (newline >= 0) return this.#windowOffset + newline;
      if (this.#windowOffset === 0) return -1;
      before = this.#windowOffset;
      this.#loadWindowBefore(before);
    }
  }

  #loadWindowBefore(end: number): void {
    const offset = Math.max(0, end - this.#windowBytes);
    if (this.#memory.length < this.#windowBytes) this.#memory = Buffer.allocUnsafe(this.#windowBytes);
    this.#window = this.#memory.subarray(0, end - offset);
    this.#window = this.#window.subarray(0, this.#store.read(this.#window, offset));
    this.#windowOffset = offset;
    this.#windowBytes = Math.min(2 * this.#windowBytes, WINDOW_BYTES);
  }
}

/** Reads lines one after the other: near ones with few reads, far ones without the bytes between them. */
export class LineWindow {
  readonly #store: SessionStore;
  #memory = Buffer.alloc(0);
  #bytes = this.#memory;
  #offset = 0;
  #windowBytes = FIRST_WINDOW_BYTES;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** The bytes of a range, valid until the next call. */
  bytes(range: { offset: number; lengthBytes: number }): Buffer {
    const end = this.#offset + this.#bytes.length;
    if (range.offset < this.#offset || range.offset + range.lengthBytes > end) this.#load(range);
    const start = range.offset - this.#offset;
    return this.#bytes.subarray(start, start + range.lengthBytes);
  }

  #load({ offset, lengthBytes }: { offset: number; lengthBytes: number }): void {
    const end = this.#offset + this.#bytes.length;
    const isNear = offset >= this.#offset && offset < end + this.#windowBytes;
    this.#windowBytes = isNear ? Math.min(2 * this.#windowBytes, WINDOW_BYTES) : FIRST_WINDOW_BYTES;
    const size = Math.max(this.#windowBytes, lengthBytes);
    if (this.#memory.length < size) this.#memory = Buffer.allocUnsafe(size);
    this.#bytes = this.#memory.subarray(0, this.#store.read(this.#memory.subarray(0, size), offset));
    this.#offset = offset;
  }
}
