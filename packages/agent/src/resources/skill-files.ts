import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";
import { type FolderEntry, folderEntries, statsAt } from "./resource-files.ts";

/** In all places together. A search of more began in the wrong folder. */
const MAX_ENTRIES = 10_000;
/** Levels of folders below a place. */
const MAX_DEPTH = 8;

/** A file that may be a skill. */
export interface FoundFile<Place> {
  path: string;
  place: Place;
}

export interface FoundFiles<Place> {
  files: FoundFile<Place>[];
  problems: { path: string; message: string }[];
}

/** In the order of the places, and of names. Never throws. */
export function findSkillFiles<Place extends { path: string }>(places: readonly Place[]): FoundFiles<Place> {
  const search = new SkillSearch();
  const files = places.flatMap((place) => search.filesAt(place.path).map((path) => ({ path, place })));
  return { files, problems: search.problems };
}

/** One search through all places. */
class SkillSearch {
  readonly problems: FoundFiles<never>["problems"] = [];
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
    const entries = this.#entriesOf(folder);
    const own = entries.find(({ name, isFolder, problem }) => name === "SKILL.md" && !isFolder && !problem);
    if (own !== undefined) return [own.path];
    return entries.flatMap((entry) => (this.#mayRead(folder) ? this.#at(entry, depth) : []));
  }

  #at({ path, name, isFolder, problem }: FolderEntry, depth: number): string[] {
    if (isFolder) return depth < MAX_DEPTH ? this.#below(path, depth + 1) : [];
    return depth === 0 && problem === undefined && name.endsWith(".md") ? [path] : [];
  }

  /** Counts each entry when its turn comes, so that a large folder does not keep the folders in it from theirs. */
  #mayRead(folder: string): boolean {
    this.#count += 1;
    if (this.#count === MAX_ENTRIES + 1) {
      const message = `The search for skills stopped here after ${count(MAX_ENTRIES)} files and folders. Keep skills in a folder of their own.`;
      this.problems.push({ path: folder, message });
    }
    return this.#count <= MAX_ENTRIES;
  }

  #entriesOf(folder: string): FolderEntry[] {
    try {
      return folderEntries(folder, this.#seenFolders);
    } catch (error) {
      this.problems.push({ path: folder, message: `Cannot read it: ${messageOf(error)}` });
      return [];
    }
  }
}
