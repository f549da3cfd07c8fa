import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { makeFolder } from "./make-folder.ts";
import { randomHex } from "./random-hex.ts";

/**
 * Makes a file that appears whole or not at all, mode 0600, and never in the place of another.
 * @param write gets the descriptor of a temporary file beside it.
 * @throws BonsaiError `session_exists`, `session_not_created`; nothing is left behind then.
 */
export function writeNewFile(file: string, write: (fd: number) => void): void {
  if (existsSync(file)) throw fileExists(file);
  const temporary = `${file}.${randomHex(6)}.tmp`;
  try {
    makeFolder(dirname(file));
    writeAndClose(temporary, write);
    publish(temporary, file);
  } catch (cause) {
    throw creationFailure(file, cause);
  } finally {
    removeIfThere(temporary);
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

/** A link fails where the name is taken, a rename replaces; some file systems know no links. */
function publish(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    if (errorCode(error) === "EEXIST" || existsSync(file)) throw fileExists(file);
    renameSync(temporary, file);
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
export function creationFailure(file: string, cause: unknown): unknown {
  // What is no error of the file system is told by whoever threw it.
  if (BonsaiError.is(cause) || errorCode(cause) === undefined) return cause;
  return new BonsaiError({
    code: "session_not_created",
    message: `${file} could not be written: ${(cause as Error).message}`,
    hint: "See that the folder can be written and the disk has room, or choose another place.",
    cause,
  });
}
