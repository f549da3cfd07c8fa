import type { OutStream } from "../io.ts";
import { outputJson } from "../output-json.ts";

/** Writes values as JSON, one a line, in order. Who awaits `write` does not run ahead of the reader. */
export class JsonLinesOut {
  readonly #stream: OutStream;
  #room: Promise<void> = Promise.resolve();

  constructor(stream: OutStream) {
    this.#stream = stream;
  }

  /** Written at once; resolves when there is room for more. */
  write(value: unknown): Promise<void> {
    const isFull = this.#stream.write(`${outputJson(value, 0)}\n`) === false;
    if (isFull && this.#stream.once !== undefined) this.#room = drained(this.#stream);
    return this.#room;
  }
}

/** A stream whose reader left never drains. */
function drained(stream: OutStream): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["drain", "error", "close"] as const) stream.once?.(event, resolve);
  });
}
