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
import {
  type EditorFiles,
  type FileLine,
  fileKind,
  LineSplitter,
  type OpenedFile,
  openFile,
  type ReadableFile,
  type TextFormat,
} from "./open-file.ts";

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

export function readTool(guard: PathGuard, editor?: EditorFiles): Tool {
  return defineTool({
    name: "read",
    effects: "none",
    label: "Read",
    description: `Reads a text file, or shows an image (png, jpeg, gif, webp). Returns at most ${shownCount(MAX_RESULT_LINES)} lines or ${shownBytes(MAX_RESULT_BYTES)}; continue with offset. Use it instead of cat or sed, and read a file before you edit it.`,
    parameters,
    async execute({ input, signal }) {
      const file = await existingPath(guard, { toolName: "read", path: input.path, access: "read", signal });
      const opened = await openFile(file, signal, editor);
      try {
        const kind = await fileKind(opened.handle);
        if (kind.kind === "text") {
          const { handle, stats } = opened;
          const { offset = 1, limit = MAX_RESULT_LINES } = input;
          const maxLines = Math.min(limit, MAX_RESULT_LINES);
          const options = { handle, sizeBytes: stats.size, format: kind, offset, maxLines, signal };
          return await readText(file.shown, options);
        }
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
): Promise<ToolResult> {
  if (size > MAX_IMAGE_BYTES)
    throw new Error(
      `The image ${shown} (${mimeType}) has ${shownBytes(size)}; at most ${shownBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy with bash and read the copy.`,
    );
  const bytes = await handle.readFile();
  const problem = imageProblem(bytes);
  if (problem !== undefined)
    throw new Error(
      `Cannot show the image ${shown} (${mimeType}): ${problem}. Make a smaller or repaired copy with bash and read the copy.`,
    );
  const text = `Image ${shown}: ${mimeType}, ${shownBytes(size)}.`;
  const image = { type: "image" as const, data: bytes.toString("base64"), mimeType };
  return { content: [{ type: "text", text }, image], details: { path: shown, sizeBytes: size } };
}

async function readText(shown: string, options: LineWindowOptions): Promise<ToolResult> {
  const { offset: firstLine, sizeBytes, format } = options;
  const window = await lineWindow(options);
  const { text, lastLine, totalLines, isEnd, cutLines } = window;
  if (lastLine < firstLine && firstLine > 1)
    throw new Error(
      `${shown} has ${shownLines(totalLines ?? 0)}; there is no line ${shownCount(firstLine)}.`,
    );
  const truncation = truncationOf(window, options);
  const texts = [text, noticesOf(shown, window, options).join("\n")].filter((part) => part !== "");
  return {
    // The first block is only the file's text.
    content: texts.map((part) => ({ type: "text", text: part })),
    details: {
      ...{ path: shown, sizeBytes, encoding: format.encoding, firstLine, lastLine, totalLines },
      truncated: !isEnd || cutLines.length > 0,
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

/** Longer lines are machine-made and shown only in part. */
const MAX_LINE_BYTES = 10_000;
const CHUNK_BYTES = 1 << 20;
/** Larger files are not read to the end to count their lines. */
const MAX_COUNTED_BYTES = 200 << 20;

interface LineWindowOptions {
  handle: ReadableFile;
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
  /** `offset - 1` for an empty text. */
  lastLine: number;
  /** False if the file has more lines. */
  isEnd: boolean;
  /** Absent for a file that is too large to count. */
  totalLines?: number | undefined;
  /** Bytes from the first line to the end of the file; absent as `totalLines`. */
  wantedBytes?: number | undefined;
  cutLines: number[];
  hasCrlf: boolean;
}

/** Reads some lines of a file. Holds no more in memory than a chunk and the result. */
async function lineWindow(options: LineWindowOptions): Promise<LineWindow> {
  const { offset, maxLines, sizeBytes } = options;
  const kept: Buffer[] = [];
  const cutLines: number[] = [];
  const window = { lastLine: offset - 1, isEnd: true, hasCrlf: false };
  let line = 0;
  let keptBytes = 0;
  let wantedBytes = 0;
  let isFull = false;
  const splitter = new LineSplitter(
    (found) => {
      line += 1;
      if (line < offset) return;
      wantedBytes += found.length + (found.hasNewline ? 1 : 0);
      const shown = isFull ? undefined : shownLine(found);
      if (shown === undefined || keptBytes + shown.length > MAX_RESULT_BYTES) window.isEnd = false;
      else {
        kept.push(shown);
        keptBytes += shown.length;
        window.lastLine = line;
        window.hasCrlf ||= isCrlf(found);
        if (found.length > MAX_LINE_BYTES) cutLines.push(line);
      }
      isFull = !window.isEnd || line - offset + 1 >= maxLines;
    },
    () => (line + 1 >= offset && !isFull ? MAX_LINE_BYTES + 1 : 0),
  );
  const mayCount = sizeBytes <= MAX_COUNTED_BYTES;
  for await (const chunk of utf8Chunks(options)) {
    splitter.push(chunk);
    if (isFull && splitter.pendingBytes > 0) window.isEnd = false;
    if (!window.isEnd && !mayCount) break;
  }
  if (mayCount || window.isEnd) splitter.end();
  const counts = mayCount || window.isEnd ? { totalLines: line, wantedBytes } : {};
  return { ...window, ...counts, cutLines, text: Buffer.concat(kept).toString() };
}

function shownLine(line: FileLine): Buffer {
  const { bytes, length, hasNewline } = line;
  const newline = hasNewline ? "\n" : "";
  if (length <= MAX_LINE_BYTES)
    return Buffer.concat([isCrlf(line) ? bytes.subarray(0, -1) : bytes, Buffer.from(newline)]);
  const mark = `… [line cut: it has ${shownCount(length)} bytes]${newline}`;
  return Buffer.concat([firstBytes(bytes, MAX_LINE_BYTES), Buffer.from(mark)]);
}

function isCrlf({ bytes, length, hasNewline }: FileLine): boolean {
  return hasNewline && length <= MAX_LINE_BYTES && bytes.at(-1) === 13;
}

/** Reads the file in chunks, converted to UTF-8. The next chunk can overwrite the memory of the last one. */
async function* utf8Chunks({ handle, format, signal }: LineWindowOptions): AsyncGenerator<Buffer> {
  const decoder =
    format.encoding === "utf-8" ? undefined : new TextDecoder(format.encoding, { ignoreBOM: true });
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let position = format.bomBytes;
  while (true) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const bytes = chunk.subarray(0, bytesRead);
    yield decoder === undefined ? bytes : Buffer.from(decoder.decode(bytes, { stream: true }));
  }
  const rest = decoder?.decode() ?? "";
  if (rest !== "") yield Buffer.from(rest);
}
