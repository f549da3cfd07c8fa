import { counted } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";

export { bytes as shownBytes, count as shownCount } from "@bonsai-agent/messages/numbers";

/** Lines of one result: at most a tenth of a small window. */
export const MAX_RESULT_LINES = 2_000;
/** Bytes of one result, about 12,000 tokens. */
export const MAX_RESULT_BYTES = 50 * 1024;

/** Describes a truncated text in the details of a tool, in pi's shape without the content. */
export interface Truncation {
  truncated: true;
  truncatedBy: "lines" | "bytes";
  /** Size of the full text; absent if counting takes too long. */
  totalLines?: number | undefined;
  totalBytes?: number | undefined;
  outputLines: number;
  outputBytes: number;
  /** True: the output begins within a line that is too long. */
  lastLinePartial: boolean;
  /** True: the first line alone is too long. */
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

/** @param known default: the limit of bytes was reached, at the end of a line */
export function truncationTo(output: string, known: Partial<Truncation>): Truncation {
  return {
    truncated: true,
    truncatedBy: "bytes",
    outputLines: countLines(output),
    outputBytes: Buffer.byteLength(output),
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    maxLines: MAX_RESULT_LINES,
    maxBytes: MAX_RESULT_BYTES,
    ...known,
  };
}

/** The end of a text within both limits, in whole lines unless the last one is too long. */
export function tailOf(text: string): string {
  const byLines = text.slice(startOfLastLines(text, MAX_RESULT_LINES));
  const bytes = Buffer.from(byLines);
  if (bytes.length <= MAX_RESULT_BYTES) return byLines;
  let start = bytes.length - MAX_RESULT_BYTES;
  while (isContinuation(bytes[start])) start += 1;
  const newline = bytes.indexOf(10, start);
  const hasWholeLine = newline >= 0 && newline < bytes.length - 1;
  return bytes.subarray(hasWholeLine ? newline + 1 : start).toString();
}

/** The first bytes, without a part of a character at the end. */
export function firstBytes(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length <= maxBytes) return bytes;
  let end = maxBytes;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.subarray(0, end);
}

/** Lines of a text; an unfinished last one counts. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return text === "" || text.endsWith("\n") ? count : count + 1;
}

/** `1 line`, `2 lines`. */
export function shownLines(lines: number): string {
  return counted(lines, "line");
}

function startOfLastLines(text: string, lines: number): number {
  let at = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let found = 0; found < lines; found += 1) {
    if (at <= 0) return 0;
    at = text.lastIndexOf("\n", at - 1);
    if (at < 0) return 0;
  }
  return at + 1;
}

/** True for a byte of a character in UTF-8 that is not its first. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "the system does not allow it",
  ENOTDIR: "a part of the path is a file, not a folder",
  EISDIR: "it is a folder",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  EROFS: "the file system is read-only",
  ELOOP: "its symbolic links form a loop",
  ENAMETOOLONG: "the name is too long for this file system",
  EMFILE: "too many files are open; try again with fewer calls at once",
  EBUSY: "another program is using it",
  ENOENT: "it does not exist",
};

/** The code of a file system error, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** An error as a sentence for the model. */
export function fileProblem(did: string, path: string, cause: unknown): Error {
  const reason = reasons[errorCode(cause) ?? ""] ?? messageOf(cause);
  return new Error(`${did} ${path} failed: ${reason}.`, { cause });
}
