import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";

/**
 * A file that appears whole or not at all, and never in the place of another. It grows under a temporary name beside
 * its own; a process killed meanwhile leaves that one behind, where it blocks nobody.
 */
export class NewFile {
  readonly path: string;
  /** The path to write until `publish`, with mode 0600. */
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

  /** As `publish`, but replaces an existing file. A reader sees the old file or the new one. */
  replace(): void {
    renameSync(this.temporaryPath, this.path);
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
 * Makes a new file under the first free name.
 * @param nameOf the path to try at the n-th attempt, from 1
 * @returns the path
 * @throws BonsaiError `session_not_created`; nothing is left behind then
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

/** Turns an error while making a file or folder into one for the user. */
export function creationFailure(file: string, cause: unknown): unknown {
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
