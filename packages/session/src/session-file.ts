import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";

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
}

/** The path for a new session's file; its folder is made, private to the user. @throws BonsaiError `session_not_created`. */
export function newSessionFile({ id, now, ...place }: SessionFileOptions): string {
  const folder = sessionFolder(place);
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
    message: `${file} exists already, and is not overwritten.`,
    hint: "Choose another name, or move the file away.",
  });
}

/** What could not make or fill a file or folder, as an error for its user. */
function creationFailure(file: string, cause: unknown): unknown {
  // What is no error of the file system is explained by whoever threw it.
  if (BonsaiError.is(cause) || errorCode(cause) === undefined) return cause;
  return new BonsaiError({
    code: "session_not_created",
    message: `${file} could not be written: ${(cause as Error).message}`,
    hint: "See that the folder can be written and the disk has room, or choose another place.",
    cause,
  });
}

/**
 * Makes a folder and those above it that are missing, private to the user. One by one: asked to make a whole
 * path below `/proc`, Node tries for ever.
 * @throws what the file system throws.
 */
function makeFolder(folder: string): void {
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
