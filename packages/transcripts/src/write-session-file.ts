import { existsSync, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "@bonsai-agent/session";

/**
 * Writes a whole session to a new file, mode 0600: it appears complete or not at all.
 * @throws BonsaiError `file_exists` when there is a file of that name, which is never overwritten;
 *   `session_not_written` when the folder cannot be written or the disk is full.
 */
export function writeSessionFile(options: {
  file: string;
  header: SessionHeader;
  entries: readonly Entry[];
}): void {
  const { file, header, entries } = options;
  if (existsSync(file)) throw alreadyThere(file);
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const lines = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(unfinished, lines.join(""), { flag: "wx", mode: 0o600 });
    publish(unfinished, file);
  } catch (error) {
    throw BonsaiError.is(error) ? error : notWritten(file, error);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** A link fails where the name is taken, a rename would replace; some file systems know no links. */
function publish(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file);
  } catch (error) {
    if (existsSync(file)) throw alreadyThere(file, error);
    renameSync(unfinished, file);
  }
}

function alreadyThere(file: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "file_exists",
    message: `${file} exists already, and is not overwritten.`,
    hint: "Name another file, or move this one away first.",
    cause,
  });
}

function notWritten(file: string, cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "session_not_written",
    message: `${file} could not be written: ${String(cause)}`,
    hint: "See that the folder can be written and the disk has room, or choose another place.",
    cause,
  });
}
