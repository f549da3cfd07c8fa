import { FolderWalk } from "@bonsai-agent/agent";

/** Enough to complete in; a project with more is searched by the model's tools. */
const MOST_FILES = 50_000;
/** How long a list that is complete is good, in milliseconds. */
const FRESH_MS = 5_000;
/** How long a completion waits for the rest of a list, in milliseconds. */
const PATIENCE_MS = 300;
/** After so many entries, keys get their turn. */
const ENTRIES_PER_TURN = 500;

export interface ProjectFile {
  /** From the folder, with `/`; one behind the name of a folder. */
  path: string;
  isFolder: boolean;
}

/** The files below a folder but for those that ignore files name: one walk for all that ask while it goes on. */
export class ProjectFiles {
  readonly #folder: string;
  #files: ProjectFile[] = [];
  #walk: Promise<void> | undefined;
  #walkedAtMs = Number.NEGATIVE_INFINITY;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What is known when the walk has ended, or after a moment: never more than a key may wait. */
  async list(signal: AbortSignal): Promise<readonly ProjectFile[]> {
    if (this.#walk === undefined && performance.now() - this.#walkedAtMs > FRESH_MS) this.#begin();
    if (this.#walk !== undefined) await patiently(this.#walk, signal);
    return this.#files;
  }

  #begin(): void {
    const before = this.#files;
    const found: ProjectFile[] = [];
    // What was known before is better than the beginning of what will be.
    if (before.length === 0) this.#files = found;
    this.#walk = this.#collect(found).finally(() => {
      this.#files = found;
      this.#walkedAtMs = performance.now();
      this.#walk = undefined;
    });
  }

  async #collect(found: ProjectFile[]): Promise<void> {
    const end = new AbortController();
    for await (const { path, kind } of new FolderWalk({
      folder: this.#folder,
      signal: end.signal,
    }).entries()) {
      const isFolder = kind === "folder";
      found.push({ path: isFolder ? `${path}/` : path, isFolder });
      if (found.length >= MOST_FILES) return;
      if (found.length % ENTRIES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

async function patiently(walk: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, PATIENCE_MS);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await Promise.race([walk, promise]);
  clearTimeout(timer);
}
