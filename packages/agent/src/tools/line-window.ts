import type { FileHandle } from "node:fs/promises";
import type { TextFormat } from "./text-encoding.ts";
import { firstBytes, MAX_RESULT_BYTES, shownCount } from "./text-limits.ts";

/** A line beyond it is machine-made; its beginning says what it is. */
export const MAX_LINE_BYTES = 10_000;
const CHUNK_BYTES = 1 << 20;
/** Up to here the rest of a file is counted, so that the model is told how much there is: a fifth of a second. */
const MAX_COUNTED_BYTES = 200 << 20;

export interface LineWindowOptions {
  handle: FileHandle;
  sizeBytes: number;
  format: TextFormat;
  /** From 1. */
  offset: number;
  maxLines: number;
  signal: AbortSignal;
}

export interface LineWindow {
  /** With line ends as `\n`. */
  text: string;
  /** The last line in it; `offset - 1` when there is none. */
  lastLine: number;
  /** False when the file goes on. */
  isEnd: boolean;
  /** Absent where counting would take too long. */
  totalLines?: number | undefined;
  cutLines: number[];
  hasCrlf: boolean;
}

/** Some lines of a file, of which no more is in memory than a chunk and the result. */
export async function lineWindow(options: LineWindowOptions): Promise<LineWindow> {
  const reader = new LineReader(options);
  const mayCount = options.sizeBytes <= MAX_COUNTED_BYTES;
  for await (const chunk of utf8Chunks(options)) {
    reader.push(chunk);
    if (reader.isBeyond && !mayCount) break;
  }
  return reader.end(mayCount);
}

class LineReader {
  readonly #offset: number;
  readonly #maxLines: number;
  readonly #kept: Buffer[] = [];
  readonly #cutLines: number[] = [];
  #keptBytes = 0;
  #lastLine: number;
  #hasCrlf = false;
  #isFull = false;
  /** The line being read, from 1, and what of it was seen. */
  #line = 1;
  #start: Buffer[] = [];
  #lineBytes = 0;
  /** True once there is something that is not shown. */
  isBeyond = false;

  constructor({ offset, maxLines }: LineWindowOptions) {
    this.#offset = offset;
    this.#maxLines = maxLines;
    this.#lastLine = offset - 1;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#take(chunk.subarray(from, at));
      this.#endLine(true);
      from = at + 1;
    }
    if (from < chunk.length) this.#take(chunk.subarray(from));
  }

  end(mayCount: boolean): LineWindow {
    if (this.#lineBytes > 0) this.#endLine(false);
    return {
      text: Buffer.concat(this.#kept).toString(),
      lastLine: this.#lastLine,
      isEnd: !this.isBeyond,
      totalLines: mayCount || !this.isBeyond ? this.#line - 1 : undefined,
      cutLines: this.#cutLines,
      hasCrlf: this.#hasCrlf,
    };
  }

  get #isWanted(): boolean {
    return this.#line >= this.#offset && !this.#isFull;
  }

  #take(piece: Buffer): void {
    if (this.#isFull && piece.length > 0) this.isBeyond = true;
    if (this.#isWanted && this.#lineBytes <= MAX_LINE_BYTES) this.#start.push(piece);
    this.#lineBytes += piece.length;
  }

  #endLine(hasNewline: boolean): void {
    if (this.#isWanted) this.#keep(hasNewline);
    if (this.#isFull) this.isBeyond = true;
    if (this.#lastLine - this.#offset + 1 >= this.#maxLines) this.#isFull = true;
    this.#line += 1;
    this.#start = [];
    this.#lineBytes = 0;
  }

  #keep(hasNewline: boolean): void {
    const line = this.#shownLine(hasNewline);
    if (this.#keptBytes + line.length > MAX_RESULT_BYTES) {
      this.#isFull = true;
      return;
    }
    this.#kept.push(line);
    this.#keptBytes += line.length;
    this.#lastLine = this.#line;
  }

  #shownLine(hasNewline: boolean): Buffer {
    const newline = hasNewline ? "\n" : "";
    const line = Buffer.concat(this.#start);
    if (this.#lineBytes > MAX_LINE_BYTES) {
      this.#cutLines.push(this.#line);
      const mark = `… [line cut: it has ${shownCount(this.#lineBytes)} bytes]${newline}`;
      return Buffer.concat([firstBytes(line, MAX_LINE_BYTES), Buffer.from(mark)]);
    }
    const isCrlf = hasNewline && line.at(-1) === 13;
    if (isCrlf) this.#hasCrlf = true;
    return Buffer.concat([isCrlf ? line.subarray(0, -1) : line, Buffer.from(newline)]);
  }
}

/** The file as UTF-8, whatever it is written in. */
async function* utf8Chunks({ handle, format, signal }: LineWindowOptions): AsyncGenerator<Buffer> {
  const decoder =
    format.encoding === "utf-8" ? undefined : new TextDecoder(format.encoding, { ignoreBOM: true });
  let position = format.bomBytes;
  while (true) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      position,
    );
    if (bytesRead === 0) break;
    position += bytesRead;
    const bytes = buffer.subarray(0, bytesRead);
    yield decoder === undefined ? bytes : Buffer.from(decoder.decode(bytes, { stream: true }));
  }
  const rest = decoder?.decode() ?? "";
  if (rest !== "") yield Buffer.from(rest);
}
