import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** Called for each line that is not empty. Its bytes are valid until the next call, the last line's until the next file. */
export type LineVisitor = (bytes: Buffer, start: number, end: number) => void;

const FIRST_BUFFER_BYTES = 1 << 20;
const NEWLINE = 10;

/**
 * Walks the lines of one file after another through one buffer: for a thousand small files, fresh memory for
 * each costs more than reading them. The buffer grows to the longest line met.
 */
export class FileLines {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);

  /** Visits every line of a file, the last one even without its newline. @throws what the file system throws. */
  visit(file: string, visitor: LineVisitor): { bytes: number; modifiedMs: number } {
    const fd = openSync(file, "r");
    try {
      const { size, mtimeMs } = fstatSync(fd);
      this.#walk(fd, visitor);
      return { bytes: size, modifiedMs: mtimeMs };
    } finally {
      closeSync(fd);
    }
  }

  #walk(fd: number, visitor: LineVisitor): void {
    let kept = 0;
    for (;;) {
      if (kept === this.#buffer.length) this.#grow();
      const read = readSync(fd, this.#buffer, kept, this.#buffer.length - kept, null);
      const filled = kept + read;
      const done = visitWholeLines({ bytes: this.#buffer, filled, searchFrom: kept, visitor });
      if (read === 0) {
        if (filled > done) visitor(this.#buffer, done, filled);
        return;
      }
      if (done > 0 && done < filled) this.#buffer.copyWithin(0, done, filled);
      kept = filled - done;
    }
  }

  #grow(): void {
    const larger = Buffer.allocUnsafeSlow(this.#buffer.length * 2);
    this.#buffer.copy(larger);
    this.#buffer = larger;
  }
}

/** Visits the lines that end within the filled part; returns where the first unfinished line starts. */
function visitWholeLines(part: {
  bytes: Buffer;
  filled: number;
  /** What stands before was searched already, and has no newline. */
  searchFrom: number;
  visitor: LineVisitor;
}): number {
  const bytes = part.bytes.subarray(0, part.filled);
  let start = 0;
  for (let from = part.searchFrom; ; from = start) {
    const newline = bytes.indexOf(NEWLINE, from);
    if (newline < 0) return start;
    if (newline > start) part.visitor(bytes, start, newline);
    start = newline + 1;
    // Every second line of what this package writes is empty.
    while (bytes[start] === NEWLINE) start++;
  }
}
