import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "../entry.ts";
import { entryLine } from "../read/sound-entry.ts";
import { readBytes } from "./line-reader.ts";
import type { SessionStore } from "./store.ts";

/** The folder of everything that Bonsai keeps: `BONSAI_HOME`, or `~/.bonsai`. */
export function bonsaiHome(env: NodeJS.ProcessEnv = process.env): string {
  // Where HOME is set to nothing, the working folder is nobody's home.
  return resolve(env.BONSAI_HOME || join(homedir() || userInfo().homedir, ".bonsai"));
}

/** The folder of all sessions, one folder per working directory in it. */
export function sessionsFolder(home: string = bonsaiHome()): string {
  return join(home, "sessions");
}

export interface SessionFolderOptions {
  /** The working directory of the sessions. */
  cwd: string;
  /** Default: `bonsaiHome()`. */
  home?: string;
}

/**
 * The folder for the sessions of one working directory. Two directories can share one (`/a/b-c` and
 * `/a-b/c`); a session's header says which it belongs to.
 */
export function sessionFolder({ cwd, home }: SessionFolderOptions): string {
  return join(sessionsFolder(home), resolve(cwd).replaceAll(/[/\\:]/g, "-"));
}

export interface SessionFileOptions extends SessionFolderOptions {
  id: string;
  /** When the session began. */
  now: Date;
  /** Where it is to be. Default: the folder of its working directory among `home`'s. */
  folder?: string;
}

/** The path for a new session's file; its folder is made, private to the user. @throws BonsaiError `session_not_created`. */
export function newSessionFile({ id, now, folder: named, ...place }: SessionFileOptions): string {
  const folder = named === undefined ? sessionFolder(place) : resolve(named);
  try {
    makeFolder(folder);
  } catch (cause) {
    throw creationFailure(folder, cause);
  }
  return join(folder, sessionFileName({ id, now }));
}

/** `<timestamp>_<id>.jsonl`, the timestamp without the characters that a file name may not have. */
export function sessionFileName({ id, now }: { id: string; now: Date }): string {
  return `${now.toISOString().replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
}

/**
 * A file that appears whole or not at all, and never in the place of another. It grows under a temporary name beside
 * its own; a process killed meanwhile leaves that one behind, where it blocks nobody.
 */
export class NewFile {
  readonly path: string;
  /** Where to write until `publish`, with mode 0600. */
  readonly temporaryPath: string;
  readonly #taken: (path: string) => Error;

  /** @param taken what `publish` throws when somebody else took the name meanwhile; default BonsaiError `session_exists` */
  constructor(path: string, taken: (path: string) => Error = fileExists) {
    this.path = path;
    this.temporaryPath = `${path}.${randomHex(6)}.tmp`;
    this.#taken = taken;
    makeFolder(dirname(path));
  }

  /** Gives what was written its name. A link fails where the name is taken, a rename replaces; some file systems know no links. */
  publish(): void {
    try {
      linkSync(this.temporaryPath, this.path);
    } catch (error) {
      if (errorCode(error) === "EEXIST" || existsSync(this.path)) throw this.#taken(this.path);
      renameSync(this.temporaryPath, this.path);
    }
    this.discard();
  }

  /** Removes what was not published; does nothing after `publish`. */
  discard(): void {
    removeIfThere(this.temporaryPath);
  }
}

/**
 * Makes a new file in one go, mode 0600.
 * @param write gets the descriptor of a temporary file beside it.
 * @throws BonsaiError `session_exists`, `session_not_created`; nothing is left behind then.
 */
export function writeNewFile(path: string, write: (fd: number) => void): void {
  if (existsSync(path)) throw fileExists(path);
  let file: NewFile | undefined;
  try {
    file = new NewFile(path);
    writeAndClose(file.temporaryPath, write);
    file.publish();
  } catch (cause) {
    throw creationFailure(path, cause);
  } finally {
    file?.discard();
  }
}

/**
 * Writes a file in the place of another, which is whole until the new one is, mode 0600.
 * @throws BonsaiError `session_not_created`; then the other is as it was.
 */
export function replaceFile(path: string, write: (fd: number) => void): void {
  let file: NewFile | undefined;
  try {
    file = new NewFile(path);
    writeAndClose(file.temporaryPath, write);
    renameSync(file.temporaryPath, path);
  } catch (cause) {
    throw creationFailure(path, cause);
  } finally {
    file?.discard();
  }
}

function writeAndClose(file: string, write: (fd: number) => void): void {
  const fd = openSync(file, "wx", 0o600);
  try {
    write(fd);
  } finally {
    closeSync(fd);
  }
}

function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    // In a folder that cannot be written there is no temporary file either.
    if (errorCode(error) === undefined) throw error;
  }
}

function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function fileExists(file: string): BonsaiError {
  return new BonsaiError({
    code: "session_exists",
    message: `${file} already exists and is not overwritten.`,
    hint: "Choose another name, or move the file away.",
  });
}

/** What could not make or fill a file or folder, as an error for its user. */
function creationFailure(file: string, cause: unknown): unknown {
  // What is no error of the file system is explained by whoever threw it.
  if (BonsaiError.is(cause) || errorCode(cause) === undefined) return cause;
  return new BonsaiError({
    code: "session_not_created",
    message: `Cannot write ${file}: ${(cause as Error).message}`,
    hint: "Check that the folder is writable and the disk has space, or choose another folder.",
    cause,
  });
}

/**
 * Makes a folder and those above it that are missing, private to the user. One by one: asked to make a whole
 * path below `/proc`, Node tries for ever.
 * @throws what the file system throws.
 */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  for (const each of missing.reverse()) makeOne(each);
}

/** Somebody else may have made it meanwhile. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Random bytes as hexadecimal digits. From the global Web Crypto: it is loaded at its first use, while an import of
 * `node:crypto` costs every opening 3 MB.
 */
export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}

const NEWLINE = 10;
const oneByte = new Uint8Array(1);
/** A living writer is done with a line before that; while it writes, the line can be seen to end anywhere. */
const SETTLED_MS = 20;
const STEP_MS = 2;

/**
 * Appends lines to a store that others may append to as well. Owner of what is known of its end.
 *
 * Another writer can be killed in the middle of a line at any moment, also between a look at the end and a write. So it is
 * looked afterwards whether somebody else wrote, and at the byte in front of the own text. Where that is no newline, the
 * first line continues a torn one and is lost with it: it is written once more, behind a newline. The lines after it are
 * whole where they are.
 *
 * Invariant: when `append` returns, each line stands on a line of its own.
 */
export class LineAppender {
  readonly #store: SessionStore;
  /** Where the store ends, if nobody else has appended since. */
  bytes = 0;
  /** True where the last line has no newline: what is appended has to begin with one. */
  #isWithinLine = false;
  /** When the end was first seen where it is. */
  #seenAtMs = 0;

  constructor(store: SessionStore) {
    this.#store = store;
    this.look();
  }

  /** Takes the end as it is now for the one that is known. */
  look(): void {
    const bytes = this.#store.size();
    const isWithinLine = bytes > 0 && this.#store.read(oneByte, bytes - 1) === 1 && oneByte[0] !== NEWLINE;
    if (bytes !== this.bytes || isWithinLine !== this.#isWithinLine) this.#seenAtMs = Date.now();
    this.bytes = bytes;
    this.#isWithinLine = isWithinLine;
  }

  /**
   * Waits a moment where the last line has no newline: so that no line that is being written is taken for a torn one.
   * @returns true once there is nothing to wait for; else the end is to be looked at again
   */
  settle(): boolean {
    if (!this.#isWithinLine || Date.now() - this.#seenAtMs >= SETTLED_MS) return true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
    return false;
  }

  /**
   * Appends lines as one write.
   * @param again the lines to write once more where the first one was lost; default: that one
   * @returns what was written: one text, or a second one where the first line had to be written again
   * @throws what the store throws
   */
  append(lines: readonly string[], again: () => readonly string[] = () => lines.slice(0, 1)): string[] {
    const text = this.#isWithinLine ? `\n${joined(lines)}` : joined(lines);
    const from = this.bytes;
    this.bytes += this.#store.append(text);
    // Where nothing stands behind it, nobody else wrote, and the byte in front is the one that was seen.
    if (this.isAtEnd() || this.#isWithinLine || !this.#continuesLine(text, from)) {
      this.#isWithinLine = false;
      return [text];
    }
    const sealed = `\n${joined(again())}`;
    this.bytes += this.#store.append(sealed);
    return [text, sealed];
  }

  /** False where the store goes on behind the known end: then somebody else has appended. */
  isAtEnd(): boolean {
    return this.#store.read(oneByte, this.bytes) === 0;
  }

  /** Whether a text that was appended continues a torn line. False where it is gone: then the store was cut off. */
  #continuesLine(text: string, from: number): boolean {
    const lengthBytes = Math.max(0, this.#store.size() - from);
    const added = readBytes(this.#store, { offset: from, lengthBytes });
    const at = added.lastIndexOf(text);
    return at > 0 && added[at - 1] !== NEWLINE;
  }
}

function joined(lines: readonly string[]): string {
  return lines.length === 1 ? `${lines[0]}\n` : `${lines.join("\n")}\n`;
}

/** Larger ones are slower: with 1 MB, the system took four times as long to write 195 MB. */
const BUFFER_BYTES = 1 << 17;

/** Writes lines to a file: copied byte for byte from a store, neighbours at once, or made anew. */
export class LineWriter {
  readonly #fd: number;
  readonly #store: SessionStore | undefined;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #used = 0;
  /** The lines that are yet to be copied: from here up to there, the last newline left out. */
  #from = 0;
  #until = 0;
  #line = 0;

  /** @param store where lines are copied from. */
  constructor(fd: number, store?: SessionStore) {
    this.#fd = fd;
    this.#store = store;
  }

  /** Copies a line. @param offset, lengthBytes its range without the newline @param line its number */
  copy({ offset, lengthBytes, line }: { offset: number; lengthBytes: number; line: number }): void {
    // Skip blank lines, which earlier versions left between entries. A damaged line can contain several entries.
    const isNeighbour = offset === this.#until + 1 && this.#until > this.#from && line !== this.#line;
    this.#line = line;
    if (!isNeighbour) {
      this.#copyPending();
      this.#from = offset;
    }
    this.#until = offset + lengthBytes;
  }

  /** Writes a line that the store does not hold in this form. */
  write(line: string): void {
    this.#copyPending();
    const bytes = Buffer.from(`${line}\n`);
    if (bytes.length > BUFFER_BYTES - this.#used) this.#flush();
    if (bytes.length > BUFFER_BYTES) writeAll(this.#fd, bytes);
    else this.#used += bytes.copy(this.#buffer, this.#used);
  }

  /** Writes what is still held back. */
  end(): void {
    this.#copyPending();
    this.#flush();
  }

  #copyPending(): void {
    if (this.#until === this.#from) return;
    for (let at = this.#from; at < this.#until; ) {
      if (this.#used === BUFFER_BYTES) this.#flush();
      const free = Math.min(BUFFER_BYTES - this.#used, this.#until - at);
      const count = this.#store!.read(this.#buffer.subarray(this.#used, this.#used + free), at);
      if (count === 0) break;
      this.#used += count;
      at += count;
    }
    this.#from = this.#until;
    if (this.#used === BUFFER_BYTES) this.#flush();
    this.#buffer[this.#used++] = NEWLINE;
  }

  #flush(): void {
    writeAll(this.#fd, this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/**
 * Writes a whole session to a new file, mode 0600: it appears complete or not at all.
 * @throws BonsaiError `session_exists`: a file is never overwritten; `session_not_created`.
 */
export function writeSessionFile(session: {
  file: string;
  header: SessionHeader;
  entries: readonly Entry[];
}): void {
  writeNewFile(resolve(session.file), (fd) => {
    const writer = new LineWriter(fd);
    writer.write(JSON.stringify(session.header));
    for (const entry of session.entries) writer.write(entryLine(entry));
    writer.end();
  });
}
