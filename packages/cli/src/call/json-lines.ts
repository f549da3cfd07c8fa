import type { OutStream } from "./io.ts";
import { outputJson, untilDrained } from "./output.ts";

/** Writes one JSON value a line. A caller that awaits `write` does not outrun the reader. */
export class JsonLinesOut {
  readonly #stream: OutStream;
  readonly #interrupted: AbortSignal;
  #hasWritten = false;
  #drain: Promise<void> | undefined;

  /** @param interrupted after an abort, no write waits for the reader */
  constructor(stream: OutStream, interrupted: AbortSignal) {
    this.#stream = stream;
    this.#interrupted = interrupted;
  }

  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Writes at once; resolves when the stream takes more. */
  write(value: unknown): Promise<void> {
    return this.writeJson(outputJson(value));
  }

  writeJson(json: string): Promise<void> {
    this.#hasWritten = true;
    const isFull = this.#stream.write(`${json}\n`) === false;
    if (isFull && !this.#interrupted.aborted) this.#drain ??= this.#drained();
    return this.#drain ?? Promise.resolve();
  }

  async #drained(): Promise<void> {
    await untilDrained(this.#stream, this.#interrupted);
    this.#drain = undefined;
  }
}

/** One line without its end, or the size of a line that is too long. */
export type LineIn = { text: string } | { tooLong: number };

/** Longer lines are skipped up to their end. */
const MAX_LINE_BYTES = 128 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/** Splits a stream at LF and drops a CR before it. U+2028 is text. The last line needs no end. */
export async function* linesIn(
  stream: AsyncIterable<Uint8Array | string>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<LineIn> {
  let parts: Buffer[] = [];
  let lineBytes = 0;
  const add = (part: Buffer) => {
    lineBytes += part.length;
    if (lineBytes > maxBytes) parts = [];
    else parts.push(part);
  };
  const take = (): LineIn => {
    const line = Buffer.concat(parts);
    const bytes = lineBytes;
    parts = [];
    lineBytes = 0;
    if (bytes > maxBytes) return { tooLong: bytes };
    return { text: line.toString("utf8", 0, line.at(-1) === CR ? line.length - 1 : line.length) };
  };
  for await (const part of stream) {
    const bytes = Buffer.from(part as Uint8Array);
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      add(bytes.subarray(start, end));
      yield take();
      start = end + 1;
    }
    add(bytes.subarray(start));
  }
  if (lineBytes > 0) yield take();
}
