import type { OutStream } from "./io.ts";
import { drained, outputJson } from "./output.ts";

/** Writes values as JSON, one a line, in order. Who awaits `write` does not run ahead of the reader. */
export class JsonLinesOut {
  readonly #stream: OutStream;
  readonly #interrupted: AbortSignal;
  #hasWritten = false;
  /** While the stream is full: resolves when more can be written. */
  #drain: Promise<void> | undefined;

  /** @param interrupted once aborted, nobody is waited for any more: who stopped reading does not stop the end */
  constructor(stream: OutStream, interrupted: AbortSignal) {
    this.#stream = stream;
    this.#interrupted = interrupted;
  }

  /** True from the first line on. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Written at once; resolves when more can be written. */
  write(value: unknown): Promise<void> {
    return this.writeJson(outputJson(value));
  }

  /** Writes a line of JSON. */
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

/** One line of a stream, without its end; `tooLong` where it had more bytes than are held. */
export type LineIn = { text: string } | { tooLong: number };

/** The longest line that is held; longer ones are skipped up to their end. */
const mostLineBytes = 128 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a stream at LF alone (CR before it is dropped), however its parts are cut. U+2028 and its kind are text like
 * any other. The last line needs no end; a byte-order mark before the first line is dropped, for some shells write one.
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

/** A line whose end has not come yet. */
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
