import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "@bonsai-agent/session";

/**
 * Writes a whole session to a new file, mode 0600: it appears complete or not at all.
 * @throws BonsaiError `file_exists` when there is a file of that name; it is never overwritten.
 */
export function writeSessionFile(options: {
  file: string;
  header: SessionHeader;
  entries: readonly Entry[];
}): void {
  const { file, header, entries } = options;
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    const lines = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(unfinished, lines.join(""), { flag: "wx", mode: 0o600 });
    // Unlike a rename, a link fails when the name is taken.
    linkSync(unfinished, file);
  } catch (error) {
    throw isTaken(error) ? alreadyThere(file, error) : error;
  } finally {
    rmSync(unfinished, { force: true });
  }
}

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "EEXIST";
}

function alreadyThere(file: string, cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "file_exists",
    message: `${file} exists already.`,
    hint: "Name another file, or move this one away first.",
    cause,
  });
}
