import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { type GuardedPath, refuseMoved } from "../path-guard.ts";
import { fileProblem } from "../result-text.ts";

export interface OpenedFile {
  handle: ReadableFile;
  stats: Pick<Stats, "size">;
}

/** The part of a file handle that reads. */
export interface ReadableFile {
  read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number; buffer: Buffer }>;
  readFile(): Promise<Buffer>;
  close(): Promise<void>;
}

/** An editor that has text files open, with unsaved changes. */
export interface EditorFiles {
  /** Returns undefined for a file to read from the disk. */
  read?(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** Returns false for a file to write to the disk. */
  write?(path: string, text: string, signal: AbortSignal): Promise<boolean>;
}

/**
 * Opens a regular file. Refuses pipes and devices: reading them may never end. A text that the editor has is read from
 * there.
 */
export async function openFile(
  file: GuardedPath,
  signal: AbortSignal,
  editor: EditorFiles = {},
): Promise<OpenedFile> {
  const opened = await openOnDisk(file);
  const text =
    editor.read === undefined || (await fileKind(opened.handle)).kind !== "text"
      ? undefined
      : await editor.read(file.real, signal);
  if (text === undefined) return opened;
  await opened.handle.close();
  return inMemory(Buffer.from(text));
}

function inMemory(bytes: Buffer): OpenedFile {
  const handle: ReadableFile = {
    async read(target, offset, length, position) {
      return { bytesRead: bytes.copy(target, offset, position, position + length), buffer: target };
    },
    readFile: async () => bytes,
    close: async () => {},
  };
  return { handle, stats: { size: bytes.length } };
}

async function openOnDisk({ real, shown }: GuardedPath): Promise<OpenedFile> {
  try {
    refuseOthers(shown, await stat(real));
    // Without waiting: the path may lead to a pipe by now.
    const handle = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      await refuseMoved(real);
      const stats = await handle.stat();
      refuseOthers(shown, stats);
      return { handle, stats };
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw error instanceof WrongKind ? error : fileProblem("Reading", shown, error);
  }
}

class WrongKind extends Error {}

function refuseOthers(shown: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new WrongKind(`${shown} is a folder. Use ls to list it.`);
  const kind = stats.isFIFO() ? "a named pipe" : stats.isSocket() ? "a socket" : "a device";
  throw new WrongKind(`${shown} is ${kind}, not a file. Only regular files can be read and edited.`);
}

/**
 * Reads the first bytes of a regular file, without waiting for a pipe.
 * @throws errors of the file system, and an Error for a file that is not regular
 */
export function readRegularFile(path: string, maxBytes: number): { bytes: Buffer; stats: Stats } {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is not a regular file");
    const bytes = Buffer.alloc(Math.min(maxBytes, stats.size));
    return { bytes: bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0)), stats };
  } finally {
    closeSync(file);
  }
}

/** The first bytes of a file. */
export async function fileHead(handle: Pick<ReadableFile, "read">, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** A line of a file, without its line end. */
export interface FileLine {
  /** The line, or the beginning of a long one. */
  bytes: Buffer;
  /** Bytes of the whole line. */
  length: number;
  hasNewline: boolean;
}

const NO_BYTES = Buffer.alloc(0);

/** Splits the pieces of a file into lines. Holds a bounded part of each line in memory. */
export class LineSplitter {
  readonly #onLine: (line: FileLine) => void;
  readonly #maxBytes: () => number;
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  /** Bytes of the unfinished line so far. */
  pendingBytes = 0;

  /** @param maxBytes bytes of the current line to hold; 0 for a line that is only counted */
  constructor(onLine: (line: FileLine) => void, maxBytes: () => number) {
    this.#onLine = onLine;
    this.#maxBytes = maxBytes;
  }

  push(piece: Buffer): void {
    let from = 0;
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
      this.#hold(piece, from, at);
      this.#endLine(true);
      from = at + 1;
    }
    const count = this.#pieces.length;
    this.#hold(piece, from, piece.length);
    // The caller may reuse the memory of the piece.
    if (this.#pieces.length > count) this.#pieces.push(Buffer.from(this.#pieces.pop()!));
  }

  /** Ends the last line, if it has no newline. */
  end(): void {
    if (this.pendingBytes > 0) this.#endLine(false);
  }

  #hold(piece: Buffer, from: number, end: number): void {
    const held = Math.min(end - from, Math.max(0, this.#maxBytes() - this.#heldBytes));
    if (held > 0) this.#pieces.push(piece.subarray(from, from + held));
    this.#heldBytes += held;
    this.pendingBytes += end - from;
  }

  #endLine(hasNewline: boolean): void {
    const bytes = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : (this.#pieces[0] ?? NO_BYTES);
    const line = { bytes, length: this.pendingBytes, hasNewline };
    if (this.#pieces.length > 0) this.#pieces = [];
    this.#heldBytes = 0;
    this.pendingBytes = 0;
    this.#onLine(line);
  }
}

/** Bytes that decide on the kind of a file. */
const HEAD_BYTES = 4_100;

/** Types that providers accept. */
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

type FileKind =
  | ({ kind: "text" } & TextFormat)
  | { kind: "image"; mimeType: string }
  | { kind: "binary"; what: string };

/** Decides by the first bytes. File names are not reliable. */
export async function fileKind(handle: Pick<ReadableFile, "read">): Promise<FileKind> {
  const head = await fileHead(handle, HEAD_BYTES);
  const marked = formatOfBom(head);
  if (marked !== undefined) return { kind: "text", ...marked };
  const isPlain = !head.includes(0) && isUtf8(head);
  if (isPlain && !head.subarray(0, 5).equals(Buffer.from("%PDF-")))
    return { kind: "text", encoding: "utf-8", bomBytes: 0 };
  // Most files never need this library.
  const mimeType = (await (await import("file-type")).fileTypeFromBuffer(head))?.mime;
  if (mimeType !== undefined)
    return imageTypes.includes(mimeType) ? { kind: "image", mimeType } : { kind: "binary", what: mimeType };
  const utf16 = unmarkedUtf16(head);
  if (utf16 !== undefined) return { kind: "text", ...utf16 };
  if (isWestern(head)) return { kind: "text", encoding: "windows-1252", bomBytes: 0 };
  return { kind: "binary", what: "unknown binary data" };
}

/** True for text in an 8-bit encoding: it has no control characters except for layout. */
function isWestern(head: Buffer): boolean {
  return head.every((byte) => byte >= 0x20 || byte === 9 || byte === 10 || byte === 12 || byte === 13);
}

/** Maximum shares of NULs and of other control characters in a text. */
const MAX_NUL_SHARE = 0.3;
const MAX_CONTROL_SHARE = 0.005;

/** True for text that contains NULs, such as a log or a list of names. */
export function isTextWithNuls(bytes: Buffer): boolean {
  let nuls = 0;
  let controls = 0;
  for (const byte of bytes) {
    if (byte === 0) nuls += 1;
    else if (byte < 32 && (byte < 7 || byte > 13) && byte !== 27) controls += 1;
  }
  return nuls <= bytes.length * MAX_NUL_SHARE && controls <= bytes.length * MAX_CONTROL_SHARE;
}

type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** How a text file is written. */
export interface TextFormat {
  encoding: TextEncoding;
  /** Length of the byte-order mark; 0 without one. */
  bomBytes: number;
}

/** Returns the encoding of a byte-order mark. */
export function formatOfBom(head: Buffer): TextFormat | undefined {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: "utf-8", bomBytes: 3 };
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: "utf-16le", bomBytes: 2 };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: "utf-16be", bomBytes: 2 };
  return undefined;
}

/** Detects UTF-16 without a mark: in Western text, every second byte is zero, and hardly any other. */
export function unmarkedUtf16(head: Buffer): TextFormat | undefined {
  const pairs = head.length >> 1;
  if (pairs < 2) return undefined;
  const zeros = [0, 0];
  for (let at = 0; at < pairs * 2; at += 1) if (head[at] === 0) zeros[at & 1]! += 1;
  const [even, odd] = zeros as [number, number];
  if (odd > pairs * 0.7 && even < pairs * 0.05) return { encoding: "utf-16le", bomBytes: 0 };
  if (even > pairs * 0.7 && odd < pairs * 0.05) return { encoding: "utf-16be", bomBytes: 0 };
  return undefined;
}

/** True for UTF-8. The last character may be incomplete. */
function isUtf8(head: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Decodes without the mark. @throws TypeError for invalid bytes */
export function decodeText(bytes: Buffer, { encoding, bomBytes }: TextFormat): string {
  return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes.subarray(bomBytes));
}

/** Encodes a text, with its mark. Windows-1252 is never written. */
export function encodeText(text: string, { encoding, bomBytes }: TextFormat): Buffer {
  const marked = bomBytes > 0 ? `\ufeff${text}` : text;
  if (encoding === "utf-16le") return Buffer.from(marked, "utf16le");
  if (encoding === "utf-16be") return Buffer.from(marked, "utf16le").swap16();
  return Buffer.from(marked);
}
