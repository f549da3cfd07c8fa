import { FolderWalk } from "@bonsai-agent/agent/host";
import { raceAbort, sleep } from "@bonsai-agent/messages/host";
import { fuzzyMatch } from "../terminal/tui.ts";

/** Maximum number of files that are matched between two keys. */
const MAX_FILES = 200_000;
/** Time until a list is read again. */
const FRESH_MS = 5_000;
/** Maximum wait for a first list, and for a newer one. */
const WAIT_FOR_FIRST_MS = 300;
const WAIT_FOR_NEWER_MS = 50;
/** Entries between two turns for keys. */
const ENTRIES_PER_TURN = 500;

interface ProjectFile {
  /** Relative, with `/`; a folder ends in `/`. */
  path: string;
  isFolder: boolean;
}

/** The files below a folder, without ignored ones. Concurrent calls share one walk. */
export class ProjectFiles {
  readonly #folder: string;
  #files: ProjectFile[] = [];
  #walk: Promise<void> | undefined;
  #freshUntilMs = Number.NEGATIVE_INFINITY;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The files known after the walk or after a moment. */
  async list(signal: AbortSignal): Promise<readonly ProjectFile[]> {
    const isFirst = this.#freshUntilMs < 0;
    if (this.#walk === undefined && performance.now() > this.#freshUntilMs) this.#begin();
    if (this.#walk !== undefined)
      await Promise.race([this.#walk, sleep(isFirst ? WAIT_FOR_FIRST_MS : WAIT_FOR_NEWER_MS, signal)]);
    return this.#files;
  }

  /** All files; the known ones if the signal aborts. */
  async whole(signal: AbortSignal): Promise<readonly ProjectFile[]> {
    if (this.#walk !== undefined) await raceAbort(this.#walk, signal, () => undefined);
    return this.#files;
  }

  #begin(): void {
    const before = this.#files;
    const found: ProjectFile[] = [];
    // An earlier list is better than the beginning of a new one.
    if (before.length === 0) this.#files = found;
    this.#walk = this.#collect(found).finally(() => {
      this.#files = found;
      this.#freshUntilMs = performance.now() + FRESH_MS;
      this.#walk = undefined;
    });
  }

  async #collect(found: ProjectFile[]): Promise<void> {
    const { signal } = new AbortController();
    for await (const { path, kind } of new FolderWalk({ folder: this.#folder, signal }).entries()) {
      const isFolder = kind === "folder";
      found.push({ path: isFolder ? `${path}/` : path, isFolder });
      if (found.length >= MAX_FILES) return;
      if (found.length % ENTRIES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const MAX_MATCHES = 30;
/** Files that are matched between two keys. */
const FILES_PER_TURN = 4_000;

/** Ranks files for a query: matches in the name before matches in folders, then shorter paths. Keys get their turn in between. */
export async function matchFiles(
  files: readonly ProjectFile[],
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<ProjectFile[]> {
  let best: ProjectFile[] = [];
  for (let from = 0; from < files.length; from += FILES_PER_TURN) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) return [];
    best = bestOf([...best, ...files.slice(from, from + FILES_PER_TURN)], query);
  }
  return best;
}

function bestOf(files: readonly ProjectFile[], query: string): ProjectFile[] {
  if (query === "") return files.filter(({ path }) => !path.slice(0, -1).includes("/")).slice(0, MAX_MATCHES);
  const letters = query.toLowerCase();
  const ranked: { file: ProjectFile; rank: number }[] = [];
  for (const file of files) {
    const rank = rankOf(file.path.toLowerCase(), letters);
    if (rank !== undefined) ranked.push({ file, rank });
  }
  ranked.sort((a, b) => a.rank - b.rank || a.file.path.length - b.file.path.length);
  return ranked.slice(0, MAX_MATCHES).map(({ file }) => file);
}

/** Lower is better. Undefined if the path lacks letters of the query, in their order. */
function rankOf(path: string, query: string): number | undefined {
  const name = path.slice(path.lastIndexOf("/", path.length - 2) + 1);
  if (name.startsWith(query)) return 0;
  if (name.includes(query)) return 1;
  if (path.includes(query)) return 2;
  // Excludes most files, and costs less than a score.
  if (!hasLetters(path, query)) return undefined;
  const { matches, score } = fuzzyMatch(query, path);
  return matches ? 3 + 1 / (1 + Math.exp(-score / 100)) : undefined;
}

function hasLetters(path: string, query: string): boolean {
  let at = -1;
  for (const letter of query) {
    at = path.indexOf(letter, at + 1);
    if (at < 0) return false;
  }
  return true;
}
