import type { FileHandle } from "node:fs/promises";
import { imageProblem } from "@bonsai-agent/messages/host";
import { z } from "zod";
import { existingPath, type PathGuard } from "../path-guard.ts";
import {
  firstBytes,
  MAX_RESULT_BYTES,
  MAX_RESULT_LINES,
  shownBytes,
  shownCount,
  shownLines,
  type Truncation,
  truncationTo,
} from "../result-text.ts";
import { defineTool, type Tool, type ToolResult } from "../tool-registry.ts";
import { fileHead, fileKind, HEAD_BYTES, type OpenedFile, openFile, type TextFormat } from "./open-file.ts";

/** The smallest limit among the providers is 5 MB. */
const MAX_IMAGE_BYTES = 5 << 20;

const parameters = z.object({
  path: z.string().min(1).describe("The file, relative to the working folder or absolute."),
  offset: z.int().min(1).optional().describe("First line to read, counted from 1. Default 1."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe(`How many lines to read. Default and maximum ${MAX_RESULT_LINES}.`),
});

type Input = z.output<typeof parameters>;

/** Details of a read, for people and programs. */
interface ReadDetails {
  path: string;
  sizeBytes: number;
  encoding?: string;
  firstLine?: number;
  lastLine?: number;
  totalLines?: number | undefined;
  truncated?: boolean;
  /** The part beyond the limits of a result; absent for a limit of the call. */
  truncation?: Truncation | undefined;
}

export function readTool(guard: PathGuard): Tool {
  return defineTool({
    name: "read",
    label: "Read",
    description: `Reads a text file, or shows an image (png, jpeg, gif, webp). Returns at most ${shownCount(MAX_RESULT_LINES)} lines or ${shownBytes(MAX_RESULT_BYTES)}; continue with offset. Use it instead of cat or sed, and read a file before you edit it.`,
    parameters,
    async execute({ input, signal }) {
      const file = await existingPath(guard, { toolName: "read", path: input.path, access: "read", signal });
      const opened = await openFile(file);
      try {
        const kind = await fileKind(await fileHead(opened.handle, HEAD_BYTES));
        if (kind.kind === "text") return await readText({ shown: file.shown, opened, input, signal }, kind);
        if (kind.kind === "image") return await readImage(file.shown, opened, kind.mimeType);
        throw new Error(
          `${file.shown} is not text: ${kind.what}, ${shownBytes(opened.stats.size)}. Use bash and a program that knows the format.`,
        );
      } finally {
        await opened.handle.close();
      }
    },
  });
}

async function readImage(
  shown: string,
  { handle, stats: { size } }: OpenedFile,
  mimeType: string,
): Promise<ToolResult<ReadDetails>> {
  if (size > MAX_IMAGE_BYTES) {
    throw new Error(
      `The image ${shown} (${mimeType}) has ${shownBytes(size)}; at most ${shownBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy with bash and read the copy.`,
    );
  }
  const bytes = await handle.readFile();
  const problem = imageProblem(bytes);
  if (problem !== undefined)
    throw new Error(
      `Cannot show the image ${shown} (${mimeType}): ${problem}. Make a smaller or repaired copy with bash and read the copy.`,
    );
  const data = bytes.toString("base64");
  return {
    content: [
      { type: "text", text: `Image ${shown}: ${mimeType}, ${shownBytes(size)}.` },
      { type: "image", data, mimeType },
    ],
    details: { path: shown, sizeBytes: size },
  };
}

interface Reading {
  shown: string;
  opened: OpenedFile;
  input: Input;
  signal: AbortSignal;
}

async function readText(
  { shown, opened, input, signal }: Reading,
  format: TextFormat,
): Promise<ToolResult<ReadDetails>> {
  const { offset = 1, limit = MAX_RESULT_LINES } = input;
  const sizeBytes = opened.stats.size;
  const maxLines = Math.min(limit, MAX_RESULT_LINES);
  const options = { handle: opened.handle, sizeBytes, format, offset, maxLines, signal };
  const window = await lineWindow(options);
  const { text, lastLine, totalLines, isEnd } = window;
  if (lastLine < offset && offset > 1) {
    throw new Error(`${shown} has ${shownLines(totalLines ?? 0)}; there is no line ${shownCount(offset)}.`);
  }
  const notices = noticesOf(shown, window, options);
  const truncation = truncationOf(window, options);
  const texts = [text, notices.join("\n")].filter((part) => part !== "");
  return {
    // The notice is a block of its own, so that the first is the file's text and nothing else.
    content: texts.map((part) => ({ type: "text", text: part })),
    details: {
      path: shown,
      sizeBytes,
      encoding: format.encoding,
      firstLine: offset,
      lastLine,
      totalLines,
      truncated: !isEnd || window.cutLines.length > 0,
      ...(truncation === undefined ? {} : { truncation }),
    },
  };
}

function truncationOf(
  { text, lastLine, isEnd, cutLines, totalLines, wantedBytes }: LineWindow,
  { offset, maxLines }: LineWindowOptions,
): Truncation | undefined {
  const isByLines = lastLine - offset + 1 === maxLines;
  const isAsWanted = isEnd || (isByLines && maxLines < MAX_RESULT_LINES);
  if (isAsWanted && cutLines.length === 0) return undefined;
  return truncationTo(text, {
    truncatedBy: !isAsWanted && isByLines ? "lines" : "bytes",
    totalLines: totalLines === undefined ? undefined : totalLines - offset + 1,
    totalBytes: wantedBytes,
    firstLineExceedsLimit: cutLines[0] === offset,
  });
}

function noticesOf(
  shown: string,
  window: LineWindow,
  { offset, sizeBytes, format }: LineWindowOptions,
): string[] {
  const { lastLine, totalLines, isEnd, cutLines, hasCrlf } = window;
  const notices: string[] = [];
  if (lastLine === 0) notices.push("[The file is empty.]");
  if (!isEnd) {
    const total = totalLines === undefined ? `a file of ${shownBytes(sizeBytes)}` : shownCount(totalLines);
    notices.push(`[Lines ${offset} to ${lastLine} of ${total}. Continue with offset=${lastLine + 1}.]`);
  }
  if (cutLines[0] !== undefined) {
    const more = `sed -n '${cutLines[0]}p' FILE | cut -b ${MAX_LINE_BYTES + 1}-`;
    notices.push(
      `[Long lines were cut (${cutLines.slice(0, 10).join(", ")}). To see the rest of a line, use bash: ${more}]`,
    );
  }
  if (hasCrlf) notices.push("[Line endings are CRLF, shown as LF; edit keeps them.]");
  if (format.encoding.startsWith("utf-16"))
    notices.push(`[${shown} is written in ${format.encoding.toUpperCase()}; edit keeps this encoding.]`);
  if (format.encoding === "windows-1252")
    notices.push(`[${shown} is not UTF-8 and is shown as Windows-1252. edit cannot change it.]`);
  return notices;
}

/** A line beyond it is machine-made; its beginning says what it is. */
const MAX_LINE_BYTES = 10_000;
const CHUNK_BYTES = 1 << 20;
/** Up to here the rest of a file is counted, so that the model sees how much there is: a fifth of a second. */
const MAX_COUNTED_BYTES = 200 << 20;

interface LineWindowOptions {
  handle: FileHandle;
  sizeBytes: number;
  format: TextFormat;
  /** From 1. */
  offset: number;
  maxLines: number;
  signal: AbortSignal;
}

interface LineWindow {
  /** With line ends as `\n`. */
  text: string;
  /** The last line in it; `offset - 1` when there is none. */
  lastLine: number;
  /** False when the file goes on. */
  isEnd: boolean;
  /** Absent where counting would take too long. */
  totalLines?: number | undefined;
  /** From the first line asked for to the end of the file; absent as `totalLines`. */
  wantedBytes?: number | undefined;
  cutLines: number[];
  hasCrlf: boolean;
}

/** Some lines of a file, of which no more is in memory than a chunk and the result. */
async function lineWindow(options: LineWindowOptions): Promise<LineWindow> {
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
  #wantedBytes = 0;
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
    const isCounted = mayCount || !this.isBeyond;
    return {
      text: Buffer.concat(this.#kept).toString(),
      lastLine: this.#lastLine,
      isEnd: !this.isBeyond,
      totalLines: isCounted ? this.#line - 1 : undefined,
      wantedBytes: isCounted ? this.#wantedBytes : undefined,
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
    if (this.#line >= this.#offset) this.#wantedBytes += this.#lineBytes + (hasNewline ? 1 : 0);
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
