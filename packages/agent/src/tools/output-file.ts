import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCode } from "./file-problem.ts";

/** A resumed session may still want yesterday's output; the disk must not fill up with last month's. */
const KEEP_DAYS = 7;

let folder: string | undefined;

/**
 * Where full outputs are kept, private to the user. The same in every run, so that a path told to the model stays
 * readable after a restart.
 */
export function outputFolder(): string {
  // The system clears away what lies there long.
  if (folder === undefined || !existsSync(folder))
    folder = privateFolder(join(tmpdir(), `bonsai-output-${process.getuid?.() ?? "user"}`));
  return folder;
}

/** Opens a new file for one output. */
export function openOutputFile(): { path: string; descriptor: number } {
  const path = join(outputFolder(), `${randomUUID()}.log`);
  return { path, descriptor: openSync(path, "wx", 0o600) };
}

/** Somebody else's folder of that name, or a link, is not used. */
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
