import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withoutTerminalControls } from "@bonsai-agent/messages/host";
import { countLines, errorCode, MAX_RESULT_BYTES, MAX_RESULT_LINES, tailOf } from "./result-text.ts";

/** A longer output has no end. */
const MAX_FILE_BYTES = 100 << 20;
/** Characters of the end in memory. More than a result needs, so that the end is cut less often. */
const MAX_HELD_CHARS = 4 * MAX_RESULT_BYTES;

/** The output of one command: its end in memory and, once it exceeds the limit of a result, all of it in a file. */
export class OutputRecord {
  #held = "";
  #lines = 0;
  bytes = 0;
  #file: { path: string; descriptor: number } | undefined;
  #fileBytes = 0;
  /** The reason why the file is incomplete. */
  problem: string | undefined;
  readonly #maxFileBytes: number;

  constructor(maxFileBytes = MAX_FILE_BYTES) {
    this.#maxFileBytes = maxFileBytes;
  }

  append(text: string): void {
    if (text === "") return;
    this.#held += text;
    this.bytes += Buffer.byteLength(text);
    this.#lines += countLines(text) - (text.endsWith("\n") ? 0 : 1);
    if (this.#file !== undefined) this.#save(text);
    else if (this.isLong && this.problem === undefined) this.#openFile();
    if (this.#held.length > MAX_HELD_CHARS) this.#held = tailOf(this.#held);
  }

  /** True if it exceeds the limits of a result. */
  get isLong(): boolean {
    return this.bytes > MAX_RESULT_BYTES || this.lines > MAX_RESULT_LINES;
  }

  get lines(): number {
    return this.#lines + (this.#held === "" || this.#held.endsWith("\n") ? 0 : 1);
  }

  get tail(): string {
    return tailOf(this.#held);
  }

  /** File with the full output, if it is long. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
  }

  #openFile(): void {
    try {
      this.#file = openOutputFile();
      this.#save(this.#held);
    } catch (error) {
      this.problem = `saving the full output failed: ${(error as Error).message}`;
    }
  }

  #save(text: string): void {
    if (this.problem !== undefined) return;
    const bytes = Buffer.from(text);
    if (this.#fileBytes + bytes.length > this.#maxFileBytes) {
      this.problem = `only the first ${this.#maxFileBytes >> 20} MB were saved`;
      return;
    }
    try {
      writeSync(this.#file!.descriptor, bytes);
      this.#fileBytes += bytes.length;
    } catch (error) {
      this.problem = `saving the rest failed: ${(error as Error).message}`;
    }
  }
}

/** Old outputs are deleted: a resumed session needs only recent ones. */
const KEEP_DAYS = 7;

let folder: string | undefined;

/** The folder of full outputs, private to the user. It stays the same, so that paths are valid after a restart. */
export function outputFolder(): string {
  // The system may have removed it.
  if (folder === undefined || !existsSync(folder))
    folder = privateFolder(join(tmpdir(), `bonsai-output-${process.getuid?.() ?? "user"}`));
  return folder;
}

/** Opens a new file for one output. */
export function openOutputFile(): { path: string; descriptor: number } {
  const path = join(outputFolder(), `${randomUUID()}.log`);
  return { path, descriptor: openSync(path, "wx", 0o600) };
}

/** Uses another name if the folder is a link or belongs to another user. */
function privateFolder(path: string): string {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  const stats = lstatSync(path);
  const isOurs = stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid());
  if (!isOurs) return mkdtempSync(`${path}-`);
  removeOld(path);
  return path;
}

function removeOld(path: string): void {
  const oldest = Date.now() - KEEP_DAYS * 24 * 3_600_000;
  for (const name of readdirSync(path)) {
    const file = join(path, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() && stats.mtimeMs < oldest) rmSync(file, { force: true });
  }
}

/** An unfinished line or escape sequence is not delayed beyond this. */
const MAX_PENDING_CHARS = 16_384;
/** An output with a larger share of control characters is binary. */
const BINARY_SHARE = 0.2;

/** Converts terminal output to plain text. A NUL ends a line: `find -print0` writes one after each name. */
export class TerminalText {
  readonly #decoder = new TextDecoder();
  #pending = "";
  #seenChars = 0;
  #junkChars = 0;

  /** Returns the finished lines. */
  push(bytes: Buffer): string {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const end = Math.max(this.#pending.lastIndexOf("\n"), this.#pending.lastIndexOf("\0")) + 1;
    if (end === 0 && this.#pending.length <= MAX_PENDING_CHARS) return "";
    // A very long line is returned in pieces.
    return this.#take(this.#pending.length - end > MAX_PENDING_CHARS ? this.#pending.length : end);
  }

  /** Returns the rest. */
  end(): string {
    this.#pending += this.#decoder.decode();
    return this.#take(this.#pending.length);
  }

  get isBinary(): boolean {
    return this.#junkChars > this.#seenChars * BINARY_SHARE;
  }

  #take(end: number): string {
    const raw = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    this.#seenChars += raw.length;
    this.#junkChars += junkIn(raw);
    return this.#clean(raw);
  }

  #clean(raw: string): string {
    const plain = withoutTerminalControls(raw.replaceAll(/\0+\n?/g, "\n"));
    const lines = plain.includes("\r") ? plain.split("\n").map(lastVersion).join("\n") : plain;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes them
    return erased(lines).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
  }
}

/** A carriage return restarts the line. Returns the version that a terminal shows. */
function lastVersion(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(end === 0 ? 0 : line.lastIndexOf("\r", end - 1) + 1, end);
}

/** Removes overstruck characters, which manual pages use for bold. */
function erased(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: backspace is meant
  return text.includes("\b") ? text.replaceAll(/[^\n]?\u0008/g, "") : text;
}

function junkIn(text: string): number {
  let junk = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // A single NUL is a separator. A block of NULs, or a NUL after each character, is data.
    const isSeparator = code === 0 && at > 0 && text.charCodeAt(at - 1) > 32 && text.charCodeAt(at - 2) !== 0;
    const isLayout = (code >= 7 && code <= 13) || code === 27 || isSeparator;
    if (code === 0xfffd || (code < 32 && !isLayout)) junk += 1;
  }
  return junk;
}
