import { readBytes } from "./line-reader.ts";
import type { SessionStore } from "./store.ts";

const NEWLINE = 10;
const oneByte = new Uint8Array(1);
/** A living writer is done with a line before that; while it writes, the line can be seen to end anywhere. */
const SETTLED_MS = 20;
const STEP_MS = 2;

/**
 * Appends lines to a store that others may append to as well. Owner of what is known of its end.
 *
 * Another writer can be killed in the middle of a line at any moment, also between a look at the end and a write. So it is
 * looked afterwards whether somebody else wrote, and at the byte in front of the own text. Where that is no newline, the
 * first line continues a torn one and is lost with it: it is written once more, behind a newline. The lines after it are
 * whole where they are.
 *
 * Invariant: when `append` returns, each line stands on a line of its own.
 */
export class LineAppender {
  readonly #store: SessionStore;
  /** Where the store ends, if nobody else has appended since. */
  bytes = 0;
  /** True where the last line has no newline: what is appended has to begin with one. */
  #isWithinLine = false;
  /** When the end was first seen where it is. */
  #seenAtMs = 0;

  constructor(store: SessionStore) {
    this.#store = store;
    this.look();
  }

  /** Takes the end as it is now for the one that is known. */
  look(): void {
    const bytes = this.#store.size();
    const isWithinLine = bytes > 0 && this.#store.read(oneByte, bytes - 1) === 1 && oneByte[0] !== NEWLINE;
    if (bytes !== this.bytes || isWithinLine !== this.#isWithinLine) this.#seenAtMs = Date.now();
    this.bytes = bytes;
    this.#isWithinLine = isWithinLine;
  }

  /**
   * Waits a moment where the last line has no newline: so that no line that is being written is taken for a torn one.
   * @returns true once there is nothing to wait for; else the end is to be looked at again
   */
  settle(): boolean {
    if (!this.#isWithinLine || Date.now() - this.#seenAtMs >= SETTLED_MS) return true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
    return false;
  }

  /**
   * Appends lines as one write.
   * @param again the lines to write once more where the first one was lost; default: that one
   * @returns what was written: one text, or a second one where the first line had to be written again
   * @throws what the store throws
   */
  append(lines: readonly string[], again: () => readonly string[] = () => lines.slice(0, 1)): string[] {
    const text = this.#isWithinLine ? `\n${joined(lines)}` : joined(lines);
    const from = this.bytes;
    this.bytes += this.#store.append(text);
    // Where nothing stands behind it, nobody else wrote, and the byte in front is the one that was seen.
    if (this.isAtEnd() || this.#isWithinLine || !this.#continuesLine(text, from)) {
      this.#isWithinLine = false;
      return [text];
    }
    const sealed = `\n${joined(again())}`;
    this.bytes += this.#store.append(sealed);
    return [text, sealed];
  }

  /** False where the store goes on behind the known end: then somebody else has appended. */
  isAtEnd(): boolean {
    return this.#store.read(oneByte, this.bytes) === 0;
  }

  /** Whether a text that was appended continues a torn line. False where it is gone: then the store was cut off. */
  #continuesLine(text: string, from: number): boolean {
    const lengthBytes = Math.max(0, this.#store.size() - from);
    const added = readBytes(this.#store, { offset: from, lengthBytes });
    const at = added.lastIndexOf(text);
    return at > 0 && added[at - 1] !== NEWLINE;
  }
}

function joined(lines: readonly string[]): string {
  return lines.length === 1 ? `${lines[0]}\n` : `${lines.join("\n")}\n`;
}
