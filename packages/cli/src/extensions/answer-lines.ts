import type { InStream } from "../io.ts";
import { linesIn } from "../rpc/json-lines-in.ts";
import { untilAborted } from "./dialog-end.ts";

/** Nobody types a longer line. */
const mostLineBytes = 1_000_000;

/** Owner of what is typed on a terminal. A line that comes after its question was given up answers the next one. */
export class AnswerLines {
  readonly #stdin: InStream;
  #lines: AsyncGenerator<{ text: string } | { tooLong: number }> | undefined;
  #next: Promise<string | undefined> | undefined;

  constructor(stdin: InStream) {
    this.#stdin = stdin;
  }

  /** The next line; undefined when the input has ended, or at the abort. */
  async line(signal: AbortSignal): Promise<string | undefined> {
    this.#next ??= this.#read();
    const line = await untilAborted(this.#next, signal);
    if (!signal.aborted) this.#next = undefined;
    return line;
  }

  /** An input that stays open would keep the process alive. */
  close(): void {
    if (this.#lines !== undefined) this.#stdin.destroy?.();
  }

  async #read(): Promise<string | undefined> {
    this.#lines ??= linesIn(this.#stdin, mostLineBytes);
    try {
      const { value, done } = await this.#lines.next();
      return done || value === undefined ? undefined : "text" in value ? value.text : "";
    } catch {
      // A terminal that is gone says nothing more.
      return undefined;
    }
  }
}
