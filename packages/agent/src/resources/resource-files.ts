import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { join } from "node:path";

export interface FolderEntry {
  path: string;
  name: string;
  isFolder: boolean;
  /** Why a link leads nowhere. */
  problem?: unknown;
}

/**
 * Lists the files and folders in a folder by name, links followed, without hidden ones and `node_modules`. Omits pipes and
 * devices: reading one could wait for ever.
 * @param seen real paths of the folders so far: a folder that contains itself by a link is listed once
 * @throws what the file system throws
 */
export function folderEntries(folder: string, seen: Set<string>): FolderEntry[] {
  const real = realpathSync(folder);
  if (seen.has(real)) return [];
  seen.add(real);
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => folderEntry(folder, entry));
}

function folderEntry(folder: string, entry: Dirent): FolderEntry[] {
  const { name } = entry;
  const path = join(folder, name);
  try {
    const found = entry.isSymbolicLink() ? statSync(path) : entry;
    return found.isDirectory() || found.isFile() ? [{ path, name, isFolder: found.isDirectory() }] : [];
  } catch (problem) {
    return [{ path, name, isFolder: false, problem }];
  }
}

/**
 * Reads the first bytes of a regular file, without waiting for a pipe.
 * @throws what the file system throws, and a sentence about a file that is not regular
 */
export function readRegularFile(path: string, maxBytes: number): { bytes: Buffer; stats: Stats } {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is not a regular file");
    const bytes = Buffer.alloc(Math.min(maxBytes, stats.size));
    return { bytes: bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0)), stats };
  } finally {
    closeSync(file);
  }
}

/** Returns undefined for a missing path, a broken link and a path without permission. */
export function statsAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** The path with links resolved. Returns undefined as `statsAt`. */
export function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
