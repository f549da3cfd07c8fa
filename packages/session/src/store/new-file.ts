import {
  closeSync,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "../entry.ts";
import { entryLine } from "../read/sound-entry.ts";
import type { SessionStore } from "./store.ts";

/** A file that appears whole or not at all. It grows under a temporary name beside its own. */
export class NewFile {
  readonly path: string;
  /** The path to write until `publish`, with mode 0600. */
  readonly temporaryPath: string;
  readonly #taken: (path: string) => Error;

  /** @param taken the error of `publish` if the name is taken meanwhile. Default: BonsaiError `session_exists` */
  constructor(path: string, taken: (path: string) => Error = fileExists) {
    this.path = path;
    this.temporaryPath = `${path}.${randomHex(6)}.tmp`;
    this.#taken = taken;
    makeFolder(dirname(path));
  }

  /** Gives the file its name. A link fails if the name is taken, a rename replaces; some file systems have no links. */
  publish(): void {
    try {
      linkSync(this.temporaryPath, this.path);
    } catch (error) {
      if (errorCode(error) === "EEXIST" || existsSync(this.path)) throw this.#taken(this.path);
      renameSync(this.temporaryPath, this.path);
    }
    this.discard();
  }

  /** As `publish`, but replaces an existing file. A reader sees the old file or the new one. */
  replace(): void {
    renameSync(this.temporaryPath, this.path);
  }

  /** Removes the unpublished file; does nothing after `publish`. */
  discard(): void {
    try {
      rmSync(this.temporaryPath, { force: true });
    } catch (error) {
      // In a folder that cannot be written there is no temporary file either.
      if (errorCode(error) === undefined) throw error;
    }
  }
}

/**
 * Makes a new file in one go, mode 0600.
 * @param write gets the descriptor of a temporary file beside it.
 * @throws BonsaiError `session_exists`, `session_not_created`; no file is left then.
 */
export function writeNewFile(path: string, write: (fd: number) => void): void {
  if (existsSync(path)) throw fileExists(path);
  let file: NewFile | undefined;
  try {
    file = new NewFile(path);
    const fd = openSync(file.temporaryPath, "wx", 0o600);
    try {
      write(fd);
    } finally {
      closeSync(fd);
    }
    file.publish();
  } catch (cause) {
    throw creationFailure(path, cause);
  } finally {
    file?.discard();
  }
}

/** As `writeNewFile`, of bytes that arrive one after the other. */
export async function streamNewFile(path: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  if (existsSync(path)) throw fileExists(path);
  let file: NewFile | undefined;
  try {
    file = new NewFile(path);
    await pipeline(parts, createWriteStream(file.temporaryPath, { flags: "wx", mode: 0o600 }));
    file.publish();
  } catch (cause) {
    throw creationFailure(path, cause);
  } finally {
    file?.discard();
  }
}

/**
 * Makes a new file under the first free name.
 * @param nameOf the path to try at the n-th attempt, from 1
 * @returns the path
 * @throws BonsaiError `session_not_created`; no file is left then
 */
export function writeFirstFree(nameOf: (number: number) => string, write: (fd: number) => void): string {
  for (let number = 1; ; number += 1) {
    const path = nameOf(number);
    try {
      writeNewFile(path, write);
      return path;
    } catch (error) {
      if (!BonsaiError.is(error) || error.code !== "session_exists") throw error;
    }
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

/** Turns an error while making a file or folder into one for the user. */
function creationFailure(file: string, cause: unknown): unknown {
  // Other errors explain themselves.
  if (BonsaiError.is(cause) || errorCode(cause) === undefined) return cause;
  return new BonsaiError({
    code: "session_not_created",
    message: `Cannot write ${file}: ${(cause as Error).message}`,
    hint: "Check that the folder is writable and the disk has space, or choose another folder.",
    cause,
  });
}

/**
 * Makes a folder and the missing folders above it, private to the user. One by one: a recursive `mkdir` below `/proc`
 * never ends.
 * @throws what the file system throws.
 */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  for (const each of missing.reverse())
    try {
      mkdirSync(each, { mode: 0o700 });
    } catch (error) {
      // Another process may have made it meanwhile.
      if (errorCode(error) !== "EEXIST") throw error;
    }
}

/**
 * Random bytes as hexadecimal digits. From the global Web Crypto: it is loaded at its first use, while an import of
 * `node:crypto` costs every opening 3 MB.
 */
export function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");
}

/** The folder of everything that Bonsai keeps: `BONSAI_HOME`, or `~/.bonsai`. */
export function bonsaiHome(env: NodeJS.ProcessEnv = process.env): string {
  // With an empty HOME, the working folder must not become the home.
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
  home?: string | undefined;
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
  /** Folder of the file. Default: the folder of its working directory in `home`. */
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

const NEWLINE = 10;
/** Larger ones are slower: with 1 MB, the system took four times as long to write 195 MB. */
const BUFFER_BYTES = 1 << 17;

/** Writes lines to a file: copied byte for byte from a store, neighbours in one write, or new ones. */
export class LineWriter {
  readonly #fd: number;
  readonly #store: SessionStore | undefined;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #used = 0;
  /** The range of the lines that are still to be copied, without the last newline. */
  #from = 0;
  #until = 0;
  #line = 0;

  /** @param store source of copied lines */
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

  /** Writes a line that the store does not have in this form. */
  write(line: string): void {
    this.#copyPending();
    const bytes = Buffer.from(`${line}\n`);
    if (bytes.length > BUFFER_BYTES - this.#used) this.#flush();
    if (bytes.length > BUFFER_BYTES) writeAll(this.#fd, bytes);
    else this.#used += bytes.copy(this.#buffer, this.#used);
  }

  /** Writes the lines that are still to be copied. */
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
