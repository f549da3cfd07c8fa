import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type IgnoreRules, isIgnored, rulesAbove, rulesIn } from "./ignore-rules.ts";

/** A search of more is one that was begun in the wrong place. */
const MAX_WALKED_ENTRIES = 300_000;
/** In a folder of many, keys and signals get their turn after so long: an abort is one of them. */
const MAX_TURN_MS = 20;

export interface WalkedEntry {
  /** Relative to where the walk began, with `/`. */
  path: string;
  kind: "file" | "folder" | "link" | "other";
}

export interface WalkOptions {
  folder: string;
  signal: AbortSignal;
}

/** What a walk could not show. */
export interface WalkGaps {
  unreadableFolders: number;
  isCut: boolean;
}

/**
 * Everything below a folder, in the order of names, but for `.git` and what ignore files name. Links are shown and not
 * followed.
 */
export class FolderWalk {
  readonly #options: WalkOptions;
  readonly gaps: WalkGaps = { unreadableFolders: 0, isCut: false };
  #seen = 0;
  #turnedAtMs = performance.now();

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  async *entries(): AsyncGenerator<WalkedEntry> {
    const { folder } = this.#options;
    yield* this.#below("", await rulesIn(folder, await rulesAbove(folder)));
  }

  async *#below(way: string, rules: IgnoreRules): AsyncGenerator<WalkedEntry> {
    const folder = join(this.#options.folder, way);
    for (const entry of await this.#list(folder)) {
      await this.#turn();
      const isFolder = entry.isDirectory();
      if (entry.name === ".git" || isIgnored({ path: join(folder, entry.name), isFolder, rules })) continue;
      this.#seen += 1;
      if (this.#seen > MAX_WALKED_ENTRIES) this.gaps.isCut = true;
      if (this.gaps.isCut) return;
      const path = way === "" ? entry.name : `${way}/${entry.name}`;
      yield { path, kind: kindOf(entry) };
      if (isFolder) yield* this.#below(path, await rulesIn(join(folder, entry.name), rules));
    }
  }

  async #turn(): Promise<void> {
    if (performance.now() - this.#turnedAtMs > MAX_TURN_MS) {
      await nextTurn();
      this.#turnedAtMs = performance.now();
    }
    this.#options.signal.throwIfAborted();
  }

  async #list(folder: string): Promise<Dirent[]> {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch {
      // Counted, and told with the result: one closed folder does not spoil a search.
      this.gaps.unreadableFolders += 1;
      return [];
    }
  }
}

function kindOf(entry: Dirent): WalkedEntry["kind"] {
  if (entry.isDirectory()) return "folder";
  if (entry.isFile()) return "file";
  return entry.isSymbolicLink() ? "link" : "other";
}

/** What a result does not cover, as sentences. */
export function gapNotes({ unreadableFolders, isCut }: WalkGaps): string[] {
  const notes: string[] = [];
  if (unreadableFolders > 0) notes.push(`[Folders that could not be read: ${unreadableFolders}.]`);
  if (isCut)
    notes.push(`[Stopped after ${MAX_WALKED_ENTRIES} files and folders: name a folder further down.]`);
  return notes;
}
