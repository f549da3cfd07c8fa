import { writeSync } from "node:fs";
import { resolve } from "node:path";
import type { Entry, SessionHeader } from "../entry.ts";
import { entryLine } from "../read/sound-entry.ts";
import { writeNewFile } from "./new-file.ts";
import type { SessionStore } from "./store.ts";

const NEWLINE = 10;
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
  #line = 0;

  /** @param store where lines are copied from. */
  constructor(fd: number, store?: SessionStore) {
    this.#fd = fd;
    this.#store = store;
  }

  /** Copies a line. @param offset, lengthBytes its range without the newline @param line its number */
  copy({ offset, lengthBytes, line }: { offset: number; lengthBytes: number; line: number }): void {
    // Skip blank lines, which earlier versions left between entries. A damaged line can contain several entries.
    const isNeighbour = offset === this.#until + 1 && this.#until > this.#from && line !== this.#line;
    this.#line = line;
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
