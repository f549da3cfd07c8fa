import { closeSync, writeSync } from "node:fs";
import { openOutputFile } from "./output-file.ts";
import { countLines, MAX_RESULT_BYTES, MAX_RESULT_LINES, tailOf } from "./text-limits.ts";

/** Beyond it an output is a runaway, and the disk is worth more. */
const MAX_FILE_BYTES = 100 << 20;
/** How much of the end is in memory; cutting less often than the result needs makes it linear. */
const MAX_HELD_CHARS = 4 * MAX_RESULT_BYTES;

/** Owner of one output: its end in memory and, once it is longer than a result may be, all of it in a file. */
export class OutputRecord {
  #held = "";
  #lines = 0;
  #bytes = 0;
  #file: { path: string; descriptor: number } | undefined;
  #fileBytes = 0;
  #problem: string | undefined;

  append(text: string): void {
    if (text === "") return;
    this.#held += text;
    this.#bytes += Buffer.byteLength(text);
    this.#lines += countLines(text) - (text.endsWith("\n") ? 0 : 1);
    if (this.#file !== undefined) this.#save(text);
    else if (this.isLong && this.#problem === undefined) this.#openFile();
    if (this.#held.length > MAX_HELD_CHARS) this.#held = tailOf(this.#held);
  }

  /** Whether the result cannot hold all of it. */
  get isLong(): boolean {
    return this.#bytes > MAX_RESULT_BYTES || this.lines > MAX_RESULT_LINES;
  }

  get lines(): number {
    return this.#lines + (this.#held === "" || this.#held.endsWith("\n") ? 0 : 1);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get tail(): string {
    return tailOf(this.#held);
  }

  /** Where all of it is, when it is long. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /** Why the file does not hold everything. */
  get problem(): string | undefined {
    return this.#problem;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
  }

  #openFile(): void {
    try {
      this.#file = openOutputFile();
      this.#save(this.#held);
    } catch (error) {
      this.#problem = `it could not be kept: ${(error as Error).message}`;
    }
  }

  #save(text: string): void {
    if (this.#problem !== undefined) return;
    const bytes = Buffer.from(text);
    if (this.#fileBytes + bytes.length > MAX_FILE_BYTES) {
      this.#problem = `only its first ${MAX_FILE_BYTES >> 20} MB were kept`;
      return;
    }
    try {
      writeSync(this.#file!.descriptor, bytes);
      this.#fileBytes += bytes.length;
    } catch (error) {
      this.#problem = `it could not be kept to the end: ${(error as Error).message}`;
    }
  }
}
