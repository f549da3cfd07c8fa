import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";

interface FolderEntry {
  path: string;
  name: string;
  isFolder: boolean;
  /** The error of a broken link. */
  problem?: unknown;
}

/**
 * Lists the files and folders in a folder by name, links followed, without hidden ones and `node_modules`. Omits pipes and
 * devices: reading one could wait for ever.
 * @param seen real paths of the folders so far: a folder that contains itself by a link is listed once
 * @param onError called if the folder cannot be read
 */
export function folderEntries(
  folder: string,
  seen: Set<string>,
  onError: (error: unknown) => void,
): FolderEntry[] {
  try {
    const real = realpathSync(folder);
    if (seen.has(real)) return [];
    seen.add(real);
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => folderEntry(folder, entry));
  } catch (error) {
    onError(error);
    return [];
  }
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

/** Returns undefined for a missing path, a broken link and a path without permission. */
export function statsAt(path: string): Stats | undefined {
  return orUndefined(() => statSync(path));
}

/** The path with links resolved. Returns undefined as `statsAt`. */
export function realOf(path: string): string | undefined {
  return orUndefined(() => realpathSync(path));
}

function orUndefined<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Entries in all places together. A larger search began in the wrong folder. */
const MAX_ENTRIES = 10_000;
/** Levels of folders below a place. */
const MAX_DEPTH = 8;

/** Files that may be skills. */
export interface SkillFiles<Place> {
  files: { path: string; place: Place }[];
  problems: { path: string; message: string }[];
}

/** Finds the files in the order of the places and of names. Never throws. */
export function findSkillFiles<Place extends { path: string }>(places: readonly Place[]): SkillFiles<Place> {
  const search = new SkillSearch();
  const files = places.flatMap((place) => search.filesAt(place.path).map((path) => ({ path, place })));
  return { files, problems: search.problems };
}

/** Searches all places. */
class SkillSearch {
  readonly problems: SkillFiles<never>["problems"] = [];
  #count = 0;
  /** Folders seen in the current place; two places may share a folder. */
  #seenFolders = new Set<string>();

  filesAt(path: string): string[] {
    this.#seenFolders = new Set();
    const stats = statsAt(path);
    if (stats?.isDirectory()) return this.#below(path, 0);
    return stats?.isFile() ? [path] : [];
  }

  #below(folder: string, depth: number): string[] {
    const entries = folderEntries(folder, this.#seenFolders, (error) => {
      this.problems.push({ path: folder, message: `Cannot read it: ${messageOf(error)}` });
    });
    const own = entries.find(({ name, isFolder, problem }) => name === "SKILL.md" && !isFolder && !problem);
    if (own !== undefined) return [own.path];
    return entries.flatMap((entry) => (this.#mayRead(folder) ? this.#at(entry, depth) : []));
  }

  #at({ path, name, isFolder, problem }: FolderEntry, depth: number): string[] {
    if (isFolder) return depth < MAX_DEPTH ? this.#below(path, depth + 1) : [];
    return depth === 0 && problem === undefined && name.endsWith(".md") ? [path] : [];
  }

  /** Counts each entry when its turn comes, so that a large folder leaves entries for its subfolders. */
  #mayRead(folder: string): boolean {
    this.#count += 1;
    if (this.#count === MAX_ENTRIES + 1) {
      const message = `The search for skills stopped here after ${count(MAX_ENTRIES)} files and folders. Keep skills in a folder of their own.`;
      this.problems.push({ path: folder, message });
    }
    return this.#count <= MAX_ENTRIES;
  }
}
