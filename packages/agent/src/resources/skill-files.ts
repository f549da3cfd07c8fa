import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";

/** In all places together: a search of more was begun in the wrong place. */
const MAX_ENTRIES = 10_000;
/** Below a place. */
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

/** Owner of what was seen so far, in all places. */
class SkillSearch {
  readonly problems: FoundFiles<never>["problems"] = [];
  #seen = 0;
  /** Folders by where they really are: links can lead in a circle. Of one place, for two may have one name. */
  #folders = new Set<string>();

  filesAt(path: string): string[] {
    this.#folders = new Set();
    const stats = statsAt(path);
    if (stats?.isDirectory()) return this.#below(path, 0);
    if (stats?.isFile()) return [path];
    return [];
  }

  #below(folder: string, depth: number): string[] {
    if (!this.#enters(folder)) return [];
    const entries = this.#entriesOf(folder);
    const own = join(folder, "SKILL.md");
    if (entries.some(({ name }) => name === "SKILL.md") && statsAt(own)?.isFile()) return [own];
    return entries.flatMap((entry) => {
      return this.#mayLook(folder) ? this.#at(join(folder, entry.name), entry, depth) : [];
    });
  }

  /** Counted where it is looked at: what a large folder lists must not leave the folders in it without their turn. */
  #mayLook(folder: string): boolean {
    this.#seen += 1;
    if (this.#seen === MAX_ENTRIES + 1) {
      const most = count(MAX_ENTRIES);
      const message = `The search for skills stopped here after ${most} files and folders. Keep skills in a folder of their own.`;
      this.problems.push({ path: folder, message });
    }
    return this.#seen <= MAX_ENTRIES;
  }

  #enters(folder: string): boolean {
    const real = realOf(folder);
    if (real === undefined || this.#folders.has(real)) return false;
    this.#folders.add(real);
    return true;
  }

  #entriesOf(folder: string): Dirent[] {
    let entries: Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      this.problems.push({ path: folder, message: `Cannot read it: ${messageOf(error)}` });
      return [];
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #at(path: string, entry: Dirent, depth: number): string[] {
    const { name } = entry;
    if (name.startsWith(".") || name === "node_modules") return [];
    const isLink = entry.isSymbolicLink();
    const stats = isLink ? statsAt(path) : entry;
    if (stats?.isDirectory()) return depth < MAX_DEPTH ? this.#below(path, depth + 1) : [];
    return depth === 0 && stats?.isFile() && name.endsWith(".md") ? [path] : [];
  }
}

/** Undefined for what is not there, as a link that leads nowhere, and what may not be looked at. */
export function statsAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** The same, of where a path really is. */
export function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
