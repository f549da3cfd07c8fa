import { writeSync } from "node:fs";
import { resolve } from "node:path";
import type { Entry, SessionHeader } from "./entry.ts";
import { readBytes } from "./line-reader.ts";
import { writeNewFile } from "./session-file.ts";
import { entryLine } from "./sound-entry.ts";
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

/** Larger ones are slower: with 1 MB, the system took four times as long to write 195 MB. */
const BUFFER_BYTES = 1 << 17;

/** Writes lines to a file: copied byte for byte from a store, neighbours at once, or made anew. */
export class LineWriter {
  readonly #fd: number;
  readonly #store: SessionStore | undefined;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #used = 0;
  /** The lines that are yet to be copied: from here up to there, the last newline left out. */
  #from = 0;
  #until = 0;

  /** @param store where lines are copied from. */
  constructor(fd: number, store?: SessionStore) {
    this.#fd = fd;
    this.#store = store;
  }

  /** Copies the line at a range of the store that does not hold its newline. */
  copy({ offset, lengthBytes }: { offset: number; lengthBytes: number }): void {
    // Blank lines, which earlier versions left between entries, are not copied.
    const isNeighbour = offset === this.#until + 1 && this.#until > this.#from;
    if (!isNeighbour) {
      this.#copyPending();
      this.#from = offset;
    }
    this.#until = offset + lengthBytes;
  }

  /** Writes a line that the store does not hold in this form. */
  write(line: string): void {
    this.#copyPending();
    const bytes = Buffer.from(`${line}\n`);
    if (bytes.length > BUFFER_BYTES - this.#used) this.#flush();
    if (bytes.length > BUFFER_BYTES) writeAll(this.#fd, bytes);
    else this.#used += bytes.copy(this.#buffer, this.#used);
  }

  /** Writes what is still held back. */
  end(): void {
    this.#copyPending();
    this.#flush();
  }

  #copyPending(): void {
    if (this.#until === this.#from) return;
    for (let at = this.#from; at < this.#until; ) {
      if (this.#used === BUFFER_BYTES) this.#flush();
      const free = Math.min(BUFFER_BYTES - this.#used, this.#until - at);
      const count = this.#store!.read(this.#buffer.subarray(this.#used, this.#used + free), at);
      if (count === 0) break;
      this.#used += count;
      at += count;
    }
    this.#from = this.#until;
    if (this.#used === BUFFER_BYTES) this.#flush();
    this.#buffer[this.#used++] = NEWLINE;
  }

  #flush(): void {
    writeAll(this.#fd, this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/**
 * Writes a whole session to a new file, mode 0600: it appears complete or not at all.
 * @throws BonsaiError `session_exists`: a file is never overwritten; `session_not_created`.
 */
export function writeSessionFile(session: {
  file: string;
  header: SessionHeader;
  entries: readonly Entry[];
}): void {
  writeNewFile(resolve(session.file), (fd) => {
    const writer = new LineWriter(fd);
    writer.write(JSON.stringify(session.header));
    for (const entry of session.entries) writer.write(entryLine(entry));
    writer.end();
  });
}
