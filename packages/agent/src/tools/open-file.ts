import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { fileProblem } from "./file-problem.ts";
import { type GuardedPath, refuseMoved } from "./path-guard.ts";

export interface OpenedFile {
  handle: FileHandle;
  stats: Stats;
}

/** Opens a regular file for reading. A pipe or a device is refused before it can hang or flood. */
export async function openFile({ real, shown }: GuardedPath): Promise<OpenedFile> {
  try {
    refuseOthers(shown, await stat(real));
    // Without waiting: what was a file a moment ago could be a pipe by now.
    const handle = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      await refuseMoved(real);
      const stats = await handle.stat();
      refuseOthers(shown, stats);
      return { handle, stats };
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw error instanceof WrongKind ? error : fileProblem("Reading", shown, error);
  }
}

class WrongKind extends Error {}

function refuseOthers(shown: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new WrongKind(`${shown} is a folder. Use ls to see what is in it.`);
  const kind = stats.isFIFO() ? "a named pipe" : stats.isSocket() ? "a socket" : "a device";
  throw new WrongKind(`${shown} is ${kind}, not a file. Only regular files can be read and edited.`);
}

/** The first bytes of a file. */
export async function fileHead(handle: FileHandle, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
  return buffer.subarray(0, bytesRead);
}
