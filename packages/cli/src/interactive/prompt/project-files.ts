import { FolderWalk } from "@bonsai-agent/agent";

/** Enough to complete in, and matched between two keys; a project with more is searched by the model's tools. */
const MOST_FILES = 200_000;
/** How long a list is good at least, in milliseconds, and how many times as long as it took. */
const FRESH_MS = 5_000;
const FRESH_WALKS = 10;
/** How long a completion waits for the rest of a first list, in milliseconds, and for a newer one. */
const PATIENCE_MS = 300;
const NEWER_PATIENCE_MS = 50;
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
  #freshUntilMs = Number.NEGATIVE_INFINITY;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What is known when the walk has ended, or after a moment: never more than a key may wait. */
  async list(signal: AbortSignal): Promise<readonly ProjectFile[]> {
    const isFirst = this.#freshUntilMs < 0;
    if (this.#walk === undefined && performance.now() > this.#freshUntilMs) this.#begin();
    if (this.#walk !== undefined)
      await patiently(this.#walk, { signal, waitMs: isFirst ? PATIENCE_MS : NEWER_PATIENCE_MS });
    return this.#files;
  }

  /** All of them, however long it takes; what is known where the signal aborts. */
  async whole(signal: AbortSignal): Promise<readonly ProjectFile[]> {
    if (this.#walk !== undefined) await patiently(this.#walk, { signal });
    return this.#files;
  }

  #begin(): void {
    const before = this.#files;
    const found: ProjectFile[] = [];
    const begunMs = performance.now();
    // What was known before is better than the beginning of what will be.
    if (before.length === 0) this.#files = found;
    this.#walk = this.#collect(found).finally(() => {
      this.#files = found;
      const nowMs = performance.now();
      this.#freshUntilMs = nowMs + Math.max(FRESH_MS, FRESH_WALKS * (nowMs - begunMs));
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

async function patiently(
  walk: Promise<void>,
  { signal, waitMs }: { signal: AbortSignal; waitMs?: number },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = waitMs === undefined ? undefined : setTimeout(resolve, waitMs);
  if (signal.aborted) resolve();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await Promise.race([walk, promise]);
  clearTimeout(timer);
}
