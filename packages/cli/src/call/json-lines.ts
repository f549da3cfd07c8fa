import type { OutStream } from "./io.ts";
import { drained, outputJson } from "./output.ts";

/** Writes one JSON value a line. A caller that awaits `write` does not outrun the reader. */
export class JsonLinesOut {
  readonly #stream: OutStream;
  readonly #interrupted: AbortSignal;
  #hasWritten = false;
  /** Set while the stream is full. */
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
    await drained(this.#stream, this.#interrupted);
    this.#drain = undefined;
  }
}

/** One line without its end, or the size of a line that is too long. */
export type LineIn = { text: string } | { tooLong: number };

/** Longer lines are skipped up to their end. */
const mostLineBytes = 128 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a stream at LF and drops a CR before it. U+2028 is text. The last line needs no end. Drops a byte-order
 * mark, which some shells write.
 */
export async function* linesIn(
  stream: AsyncIterable<Uint8Array | string>,
  mostBytes = mostLineBytes,
): AsyncGenerator<LineIn> {
  const line = new OpenLine(mostBytes);
  for await (const part of stream) {
    const bytes = Buffer.from(part as Uint8Array);
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      line.add(bytes.subarray(start, end));
      yield line.take();
      start = end + 1;
    }
    line.add(bytes.subarray(start));
  }
  if (line.bytes > 0) yield line.take();
}

/** A line without its end. */
class OpenLine {
  bytes = 0;
  readonly #mostBytes: number;
  #parts: Buffer[] = [];

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(part: Buffer): void {
    this.bytes += part.length;
    if (this.bytes > this.#mostBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  take(): LineIn {
    const { bytes } = this;
    const all = Buffer.concat(this.#parts);
    this.bytes = 0;
    this.#parts = [];
    if (bytes > this.#mostBytes) return { tooLong: bytes };
    return { text: all.toString("utf8", 0, all.at(-1) === CR ? all.length - 1 : all.length) };
  }
}
