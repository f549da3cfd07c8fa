import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, lstat, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from "diff";
import { type GuardedPath, refuseMoved } from "../path-guard.ts";
import { countLines, errorCode, fileProblem } from "../result-text.ts";

/** Writes a whole file atomically, and creates missing folders. The file keeps its mode, owner and group. */
export async function replaceFile({ real, shown }: GuardedPath, bytes: Buffer): Promise<void> {
  try {
    await refuseMoved(real);
    const stats = await lstat(real).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    });
    if (stats?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (stats !== undefined && !stats.isFile()) throw new Error("it is not a regular file");
    // A rename would ignore the write protection of the file.
    if (stats !== undefined) await access(real, constants.W_OK);
    else await mkdir(dirname(real), { recursive: true });
    await (mustStayInPlace(stats) ? writeFile(real, bytes) : writeBeside(real, bytes, stats));
  } catch (error) {
    throw fileProblem("Writing", shown, error);
  }
}

/** True if a new file would break hard links or change the owner. */
function mustStayInPlace(stats: Stats | undefined): boolean {
  if (stats === undefined) return false;
  return stats.nlink > 1 || (process.getuid !== undefined && stats.uid !== process.getuid());
}

async function writeBeside(path: string, bytes: Buffer, stats: Stats | undefined): Promise<void> {
  const beside = join(dirname(path), `.bonsai-${randomUUID()}.tmp`);
  try {
    // The copy must not be more readable than the file.
    const handle = await open(beside, "wx", stats === undefined ? 0o666 : 0o600);
    try {
      if (stats !== undefined) {
        // The group first: changing it clears the set-user-id bits of the mode.
        if ((await handle.stat()).gid !== stats.gid) await handle.chown(-1, stats.gid);
        await handle.chmod(stats.mode & 0o7777);
      }
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    // The folder may refuse new files, and on Windows the file may be open elsewhere.
    if (stats === undefined || !["EACCES", "EPERM", "EBUSY"].includes(errorCode(error) ?? "")) throw error;
    await writeFile(path, bytes);
  }
}

/** The latest change of each file. Shared by all agents of the process: sub-agents change the same files. */
const latest = new Map<string, Promise<unknown>>();

/** Runs after all earlier work on the same path, failed or not. */
export async function inFileQueue<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const earlier = latest.get(path) ?? Promise.resolve();
  const own = earlier.then(work);
  const settled = own.catch(() => {});
  latest.set(path, settled);
  try {
    return await own;
  } finally {
    if (latest.get(path) === settled) latest.delete(path);
  }
}

/** Lines shown around a change. */
const CONTEXT_LINES = 3;
/** Finding the smallest difference of two large texts can take minutes. */
const MAX_DIFF_MS = 1_000;

/** How a file changed. */
export interface FileDiff {
  /** Unified, without file names; empty if it takes too long. */
  diff: string;
  /** Lines. */
  added: number;
  removed: number;
  /** In the new file, from 1; absent without a change. */
  firstChangedLine?: number | undefined;
}

export function fileDiff(before: string, after: string, contextLines = CONTEXT_LINES): FileDiff {
  const options = { context: contextLines, timeout: MAX_DIFF_MS };
  const patch = structuredPatch("", "", before, after, undefined, undefined, options);
  if (patch === undefined)
    return { diff: "", added: countLines(after), removed: countLines(before), firstChangedLine: 1 };
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const count = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  return {
    diff: formatPatch(patch, OMIT_HEADERS),
    added: count("+"),
    removed: count("-"),
    firstChangedLine: patch.hunks[0] && firstChange(patch.hunks[0]),
  };
}

function firstChange({ newStart, lines }: StructuredPatchHunk): number {
  const unchanged = lines.findIndex((line) => !line.startsWith(" "));
  return Math.max(1, newStart) + Math.max(0, unchanged);
}
