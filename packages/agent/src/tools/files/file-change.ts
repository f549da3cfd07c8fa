import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from "diff";
import { type GuardedPath, refuseMoved } from "../path-guard.ts";
import { countLines, errorCode, fileProblem } from "../result-text.ts";

/**
 * Writes a whole file: a reader, and a crash, sees the old or the new, never a part. The file keeps its mode, owner and
 * group; missing folders are made.
 */
export async function replaceFile({ real, shown }: GuardedPath, bytes: Buffer): Promise<void> {
  try {
    await refuseMoved(real);
    const stats = await statsOf(real);
    if (stats?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (stats !== undefined && !stats.isFile()) throw new Error("it is not a regular file");
    // A rename would pass by a write protection that is meant for this file.
    if (stats !== undefined) await access(real, constants.W_OK);
    else await mkdir(dirname(real), { recursive: true });
    await (mustStayInPlace(stats) ? writeFile(real, bytes) : writeBeside(real, bytes, stats));
  } catch (error) {
    throw fileProblem("Writing", shown, error);
  }
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A new file in its place would cut hard links and change the owner. */
function mustStayInPlace(stats: Stats | undefined): boolean {
  if (stats === undefined) return false;
  return stats.nlink > 1 || (process.getuid !== undefined && stats.uid !== process.getuid());
}

/** The group first: who changes it loses the bits that lend a program the rights of its owner. */
async function takeRights(handle: FileHandle, { gid, mode }: Stats): Promise<void> {
  if ((await handle.stat()).gid !== gid) await handle.chown(-1, gid);
  await handle.chmod(mode & 0o7777);
}

async function writeBeside(path: string, bytes: Buffer, stats: Stats | undefined): Promise<void> {
  const beside = join(dirname(path), `.bonsai-${randomUUID()}.tmp`);
  try {
    // The copy must not show what the file's own mode hides.
    const handle = await open(beside, "wx", stats === undefined ? 0o666 : 0o600);
    try {
      if (stats !== undefined) await takeRights(handle, stats);
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    // A folder that takes no new files, or (Windows) a file that is open elsewhere, can still be written to.
    if (stats === undefined || !["EACCES", "EPERM", "EBUSY"].includes(errorCode(error) ?? "")) throw error;
    await writeFile(path, bytes);
  }
}

/** Owner of whose turn it is to change a file. Of the process, not of an agent: sub-agents change the same files. */
const latest = new Map<string, Promise<unknown>>();

/** Runs after everything that was asked for the same path before, whether that worked or not. */
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

/** Lines around a change, enough to see where it is. */
const CONTEXT_LINES = 3;
/** Finding the smallest difference of two large, different texts takes minutes; nobody needs it that small. */
const MAX_DIFF_MS = 1_000;

/** How a file changed. */
export interface FileDiff {
  /** Unified, without file names; empty when there was no time to find it. */
  diff: string;
  /** Lines. */
  added: number;
  removed: number;
  /** In the new file, from 1; absent when nothing changed. */
  firstChangedLine?: number | undefined;
}

export function fileDiff(before: string, after: string, contextLines = CONTEXT_LINES): FileDiff {
  const patch = structuredPatch("", "", before, after, undefined, undefined, {
    context: contextLines,
    timeout: MAX_DIFF_MS,
  });
  if (patch === undefined) {
    return { diff: "", added: countLines(after), removed: countLines(before), firstChangedLine: 1 };
  }
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
