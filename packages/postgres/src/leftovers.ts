import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readFrom, writeNewFile } from "@bonsai-agent/session/host";
import { wholeLength } from "./lines.ts";
import { fileName } from "./working-copy.ts";

// Lines that a host could not store: after a lost lease, a crash, or an end without the database.

/** The store of the opening that saves the lines of earlier ones. */
interface WritableStore {
  fence: number;
  size(): number;
  read(target: Uint8Array, offset: number): number;
  append(bytes: Buffer): number;
}

/** Writes lines that no longer reach the database to a file beside their working copy. Returns its path, if any. */
export function saveUnstored(bytes: Buffer, id: string, workingCopy: string): string | undefined {
  const lines = bytes.subarray(0, wholeLength(bytes));
  if (lines.length === 0) return undefined;
  const path = workingCopy.replace(/jsonl$/, "unstored.jsonl");
  const header = { type: "session", version: 3, id, timestamp: new Date().toISOString(), cwd: "" };
  rmSync(path, { force: true });
  writeNewFile(path, (fd) => {
    writeSync(fd, `${JSON.stringify(header)}\n`);
    for (let at = 0; at < lines.length; ) at += writeSync(fd, lines, at);
  });
  return path;
}

/**
 * Deletes the working copies of earlier runs on this host that were killed, or quit without the database. Lines that were
 * not stored are saved to files.
 * @param appends true to append them instead, if the store has nothing else after the lines before them
 * @returns the paths of the saved lines
 */
export function saveLeftovers(
  store: WritableStore,
  { folder, id, appends }: { folder: string; id: string; appends: boolean },
): string[] {
  const name = new RegExp(`^${fileName(id).replaceAll(/[^\w-]/g, "\\$&")}\\.(\\d+)\\.jsonl$`);
  return readdirSync(folder).flatMap((file) => {
    const fence = Number(name.exec(file)?.[1]);
    if (!(fence < store.fence)) return [];
    const path = join(folder, file);
    const { lines, continuesStored } = unstoredLines(path, store);
    const isAppended = appends && continuesStored;
    if (isAppended) store.append(lines.subarray(0, wholeLength(lines)));
    const saved = isAppended ? undefined : saveUnstored(lines, id, path);
    rmSync(path, { force: true });
    return saved ?? [];
  });
}

/** A killed host had shipped all but its latest lines. */
const COMPARED_BYTES = 1 << 22;
const NEWLINE = 10;

/** The end of a working copy from the first line that the stored session has otherwise, or not at all. */
function unstoredLines(path: string, store: WritableStore): { lines: Buffer; continuesStored: boolean } {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const from = Math.max(0, Math.min(size, store.size()) - COMPARED_BYTES);
  const left = Buffer.alloc(size - from);
  const fd = openSync(path, "r");
  readFrom(fd, left, from);
  closeSync(fd);
  const stored = Buffer.alloc(Math.max(0, Math.min(left.length, store.size() - from)));
  store.read(stored, from);
  let at = 0;
  // A hole of the working copy is read as zeros.
  while (at < stored.length && (left[at] === stored[at] || left[at] === 0)) at += 1;
  if (at === left.length) return { lines: left.subarray(at), continuesStored: false };
  const start = left.lastIndexOf(NEWLINE, at - 1) + 1;
  return { lines: left.subarray(start), continuesStored: from + start === store.size() };
}
