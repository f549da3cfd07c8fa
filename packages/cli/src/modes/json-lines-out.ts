import type { OutStream } from "../io.ts";
import { outputJson } from "../output-json.ts";

/** Writes values as JSON, one a line, in order. Who awaits `write` does not run ahead of the reader. */
export class JsonLinesOut {
  readonly #stream: OutStream;
  readonly #interrupted: AbortSignal;
  #hasWritten = false;
  /** While the stream is full: resolves when there is room. */
  #room: Promise<void> | undefined;

  /** @param interrupted once aborted, nobody is waited for any more: who stopped reading does not stop the end */
  constructor(stream: OutStream, interrupted: AbortSignal) {
    this.#stream = stream;
    this.#interrupted = interrupted;
  }

  /** True from the first line on. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Written at once; resolves when there is room for more. */
  write(value: unknown): Promise<void> {
    this.#hasWritten = true;
    const isFull = this.#stream.write(`${outputJson(value)}\n`) === false;
    if (isFull && !this.#interrupted.aborted) this.#room ??= this.#drained();
    return this.#room ?? Promise.resolve();
  }

  /** A stream whose reader left never drains. */
  #drained(): Promise<void> {
    const stream = this.#stream;
    const { promise, resolve } = Promise.withResolvers<void>();
    const events = ["drain", "error", "close"] as const;
    const end = () => {
      for (const event of events) stream.removeListener?.(event, end);
      this.#interrupted.removeEventListener("abort", end);
      this.#room = undefined;
      resolve();
    };
    for (const event of events) stream.once?.(event, end);
    this.#interrupted.addEventListener("abort", end);
    return stream.once === undefined ? Promise.resolve() : promise;
  }
}
