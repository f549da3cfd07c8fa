import { type LineSource, readBytes } from "./line-reader.ts";
import type { SessionStore } from "./store.ts";

const NEWLINE = 10;
const twoBytes = new Uint8Array(2);
/** A living writer completes its line within this time. */
const SETTLED_MS = 20;
const STEP_MS = 2;
const MAX_STEPS = 50;
/** Long enough to identify the end of a line, which includes its id or its text. */
const END_BYTES = 256;

/**
 * Appends lines to a store that others may append to as well. Owner of the known end of the store.
 *
 * Another writer can be killed in the middle of a line at any moment, also between a look at the end and a write. So
 * `append` looks afterwards whether another writer was there, and at the byte before the own text. If that byte is no
 * newline, the first line continues a torn one and is lost with it: `append` writes it again after a newline.
 *
 * Invariant: when `append` returns, each line stands on a line of its own, if the store still has it.
 */
export class LineAppender {
  readonly #store: SessionStore;
  /** The end of the store, if nobody else has appended since. */
  bytes = 0;
  /** True if the last line has no newline: the next text must begin with one. */
  #isWithinLine = false;
  /** The time when the end was first seen where it is. */
  #seenAtMs = 0;
  /** The last bytes of the store at the last look. */
  #lookedEnd!: StoredBytes;
  /** The text appended last, and the offset of its end. */
  #appended: { text: string; end: number } | undefined;

  constructor(store: SessionStore) {
    this.#store = store;
    this.look();
  }

  /** Reads the present end of the store. */
  look(): void {
    const bytes = this.#store.size();
    this.#lookedEnd = endOf(this.#store, bytes);
    this.#appended = undefined;
    const isWithinLine = bytes > 0 && this.#lookedEnd.bytes.at(-1) !== NEWLINE;
    if (bytes !== this.bytes || isWithinLine !== this.#isWithinLine) this.#seenAtMs = Date.now();
    this.bytes = bytes;
    this.#isWithinLine = isWithinLine;
  }

  /** False if the store lost, or has something else instead of, its end at the last look or the text appended last. */
  isIntact(): boolean {
    if (this.#store.size() < this.bytes || !holds(this.#store, this.#lookedEnd)) return false;
    if (this.#appended === undefined) return true;
    const bytes = Buffer.from(this.#appended.text).subarray(-END_BYTES);
    return holds(this.#store, { offset: this.#appended.end - bytes.length, bytes });
  }

  /** If the last line has no newline, waits a moment: another writer may still be writing it. */
  settle(): void {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if (!this.#isWithinLine || Date.now() - this.#seenAtMs >= SETTLED_MS) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
      this.look();
    }
  }

  /**
   * Appends lines as one write.
   * @param again the lines to write once more if the first one was lost. Default: the first one
   * @returns false if another writer was there or the store was cut off: then `isIntact` must be asked
   * @throws what the store throws
   */
  append(lines: readonly string[], again: () => readonly string[] = () => lines.slice(0, 1)): boolean {
    const text = this.#isWithinLine ? `\n${joined(lines)}` : joined(lines);
    const from = this.bytes;
    this.bytes += this.#store.append(text);
    this.#appended = { text, end: this.bytes };
    const isAlone = this.#store.read(twoBytes, this.bytes - 1) === 1 && twoBytes[0] === NEWLINE;
    if (!isAlone) this.#placeAmongOthers(from, again);
    this.#isWithinLine = false;
    return isAlone;
  }

  /** Finds the appended text after `from`, and seals a torn line before it. */
  #placeAmongOthers(from: number, again: () => readonly string[]): void {
    const { text } = this.#appended!;
    const lengthBytes = Math.max(0, this.#store.size() - from);
    const added = readBytes(this.#store, { offset: from, lengthBytes });
    const at = added.lastIndexOf(text);
    if (at < 0) return;
    this.#appended = { text, end: from + at + Buffer.byteLength(text) };
    if (at === 0 || this.#isWithinLine || added[at - 1] === NEWLINE) return;
    this.bytes += this.#store.append(`\n${joined(again())}`);
  }
}

/** Bytes that the store is known to have. */
interface StoredBytes {
  offset: number;
  bytes: Buffer;
}

function endOf(store: LineSource, size: number): StoredBytes {
  const offset = Math.max(0, size - END_BYTES);
  return { offset, bytes: readBytes(store, { offset, lengthBytes: size - offset }) };
}

function holds(store: LineSource, { offset, bytes }: StoredBytes): boolean {
  return readBytes(store, { offset, lengthBytes: bytes.length }).equals(bytes);
}

function joined(lines: readonly string[]): string {
  return lines.length === 1 ? `${lines[0]}\n` : `${lines.join("\n")}\n`;
}
