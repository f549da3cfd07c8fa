import { z } from "zod";
import { defineTool, type Tool, type ToolResult } from "../tool.ts";
import { existingPath } from "./existing-path.ts";
import { fileKind, HEAD_BYTES } from "./file-kind.ts";
import { type LineWindow, lineWindow, MAX_LINE_BYTES } from "./line-window.ts";
import { fileHead, type OpenedFile, openFile } from "./open-file.ts";
import type { PathGuard } from "./path-guard.ts";
import type { TextFormat } from "./text-encoding.ts";
import { MAX_RESULT_BYTES, MAX_RESULT_LINES, shownBytes, shownCount, shownLines } from "./text-limits.ts";
import { toolInput } from "./tool-input.ts";

/** The smallest limit among the providers is 5 MB. */
const MAX_IMAGE_BYTES = 5 << 20;

const parameters = toolInput({
  path: z.string().min(1).describe("The file, relative to the working folder or absolute."),
  offset: z.int().min(1).optional().describe("First line to read, from 1. Default 1."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe(`How many lines to read. Default and maximum ${MAX_RESULT_LINES}.`),
});

type Input = z.output<typeof parameters>;

/** What people and programs see of a read. */
export interface ReadDetails {
  path: string;
  sizeBytes: number;
  encoding?: string;
  firstLine?: number;
  lastLine?: number;
  totalLines?: number | undefined;
  truncated?: boolean;
}

export function readTool(guard: PathGuard): Tool {
  return defineTool({
    name: "read",
    label: "Read",
    description: `Reads a text file, or shows an image (png, jpeg, gif, webp). Returns at most ${shownCount(MAX_RESULT_LINES)} lines or ${MAX_RESULT_BYTES / 1024} KB; go on with offset. Use it rather than cat or sed, and read a file before you edit it.`,
    parameters,
    async execute({ input, signal }) {
      const file = await existingPath(guard, { toolName: "read", path: input.path, access: "read", signal });
      const opened = await openFile(file);
      try {
        return await readOpened({ shown: file.shown, opened, input, signal });
      } finally {
        await opened.handle.close();
      }
    },
  });
}

interface Reading {
  shown: string;
  opened: OpenedFile;
  input: Input;
  signal: AbortSignal;
}

async function readOpened(reading: Reading): Promise<ToolResult<ReadDetails>> {
  const { shown, opened } = reading;
  const kind = await fileKind(await fileHead(opened.handle, HEAD_BYTES));
  if (kind.kind === "text") return readText(reading, kind);
  const { size } = opened.stats;
  if (kind.kind === "image") return readImage(reading, kind.mimeType);
  throw new Error(
    `${shown} is not text: ${kind.what}, ${shownBytes(size)}. Look into it with a program that knows the format, through bash.`,
  );
}

async function readImage({ shown, opened }: Reading, mimeType: string): Promise<ToolResult<ReadDetails>> {
  const { size } = opened.stats;
  if (size > MAX_IMAGE_BYTES) {
    throw new Error(
      `The image ${shown} (${mimeType}) has ${shownBytes(size)}; at most ${shownBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy through bash and read that.`,
    );
  }
  const data = (await opened.handle.readFile()).toString("base64");
  return {
    content: [
      { type: "text", text: `Image ${shown}: ${mimeType}, ${shownBytes(size)}.` },
      { type: "image", data, mimeType },
    ],
    details: { path: shown, sizeBytes: size },
  };
}

async function readText(
  { shown, opened, input, signal }: Reading,
  format: TextFormat,
): Promise<ToolResult<ReadDetails>> {
  const { offset = 1, limit = MAX_RESULT_LINES } = input;
  const sizeBytes = opened.stats.size;
  const maxLines = Math.min(limit, MAX_RESULT_LINES);
  const window = await lineWindow({ handle: opened.handle, sizeBytes, format, offset, maxLines, signal });
  const { text, lastLine, totalLines, isEnd } = window;
  if (lastLine < offset && offset > 1) {
    throw new Error(`${shown} has ${shownLines(totalLines ?? 0)}; there is no line ${shownCount(offset)}.`);
  }
  const notices = noticesOf({ window, offset, sizeBytes, format, shown });
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
    },
  };
}

interface Noticed {
  window: LineWindow;
  offset: number;
  sizeBytes: number;
  format: TextFormat;
  shown: string;
}

function noticesOf({ window, offset, sizeBytes, format, shown }: Noticed): string[] {
  const { lastLine, totalLines, isEnd, cutLines, hasCrlf } = window;
  const notices: string[] = [];
  if (lastLine === 0) notices.push("[The file is empty.]");
  if (!isEnd) {
    const total = totalLines === undefined ? `a file of ${shownBytes(sizeBytes)}` : shownCount(totalLines);
    notices.push(`[Lines ${offset} to ${lastLine} of ${total}. Go on with offset=${lastLine + 1}.]`);
  }
  if (cutLines[0] !== undefined) {
    const more = `sed -n '${cutLines[0]}p' FILE | cut -b ${MAX_LINE_BYTES + 1}-`;
    notices.push(
      `[Long lines were cut (${cutLines.slice(0, 10).join(", ")}). See the rest of one through bash: ${more}]`,
    );
  }
  if (hasCrlf) notices.push("[Line endings are CRLF, shown as LF; edit keeps them.]");
  if (format.encoding.startsWith("utf-16"))
    notices.push(`[${shown} is written in ${format.encoding.toUpperCase()}; edit keeps that.]`);
  if (format.encoding === "windows-1252")
    notices.push(`[${shown} is not UTF-8; shown as Windows-1252. edit refuses it.]`);
  return notices;
}
