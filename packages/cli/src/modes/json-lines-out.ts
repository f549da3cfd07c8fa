import type { OutStream } from "../io.ts";
import { outputJson } from "../output-json.ts";

/** Writes values as JSON, one a line, in order. Who awaits `write` does not run ahead of the reader. */
export class JsonLinesOut {
  readonly #stream: OutStream;
  /** While the stream is full: resolves when there is room. */
  #room: Promise<void> | undefined;

  constructor(stream: OutStream) {
    this.#stream = stream;
  }

  /** Written at once; resolves when there is room for more. */
  write(value: unknown): Promise<void> {
    const isFull = this.#stream.write(`${outputJson(value, 0)}\n`) === false;
    if (isFull && this.#stream.once !== undefined) this.#room ??= this.#drained();
    return this.#room ?? Promise.resolve();
  }

  /** A stream whose reader left never drains. */
  async #drained(): Promise<void> {
    await firstOf(this.#stream, ["drain", "error", "close"]);
    this.#room = undefined;
  }
}

function firstOf(stream: OutStream, events: readonly ("drain" | "error" | "close")[]): Promise<void> {
  return new Promise((resolve) => {
    const heard = () => {
      for (const event of events) stream.removeListener?.(event, heard);
      resolve();
    };
    for (const event of events) stream.once?.(event, heard);
  });
}
