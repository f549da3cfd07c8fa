import { existsSync, mkdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Where deleted sessions lie, in the folders that they had among the recorded ones. */
export function trashFolder(home: string): string {
  return join(home, "trash");
}

/**
 * Moves a session's file to the trash: it is found there under its own folder's name, and moved back to have it again.
 * @returns where it lies now
 * @throws what the file system throws; then nothing has changed
 */
export function trashSession(file: string, home: string): string {
  const folder = join(trashFolder(home), basename(dirname(file)));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const to = freeName(join(folder, basename(file, ".jsonl")));
  renameSync(file, to);
  return to;
}

/** Moves a session's file back from the trash. @throws what the file system throws, and where another has its place */
export function takeBack({ file, inTrash }: { file: string; inTrash: string }): void {
  if (existsSync(file)) throw new Error(`${file} is there already.`);
  renameSync(inTrash, file);
}

/** Nothing in the trash is written over. */
function freeName(stem: string): string {
  for (let at = 0; ; at += 1) {
    const file = `${stem}${at === 0 ? "" : `-${at}`}.jsonl`;
    if (!existsSync(file)) return file;
  }
}
