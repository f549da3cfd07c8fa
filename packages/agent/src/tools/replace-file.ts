import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode, fileProblem } from "./file-problem.ts";
import { type GuardedPath, refuseMoved } from "./path-guard.ts";

/**
 * Writes a whole file: a reader, and a crash, sees the old or the new, never a part. The file keeps its mode, owner and
 * group; missing folders are made.
 */
export async function replaceFile({ real, shown }: GuardedPath, bytes: Buffer): Promise<void> {
  try {
    await refuseMoved(real);
    const stats = await statsOf(real);
    if (stats?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (stats !== undefined && !stats.isFile()) throw new Error("it is no regular file");
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
    // Nobody may read here what the file itself does not show.
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
