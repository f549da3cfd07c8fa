import { parseSearchQuery, type SearchFindings, type SearchThread } from "@bonsai-agent/session/search";

/** A key that comes sooner than this changes what is looked for. */
const TYPING_MS = 120;
/** What is found is shown so often. */
const SHOWN_MS = 50;
/** One or two letters stand everywhere. */
const TOO_SHORT = /^[\0-\x7f]{0,2}$/;

export type FindsTexts = Pick<SearchThread, "find">;

interface TextScope {
  cwd?: string;
  folder?: string;
  /** How many sessions there are. */
  most: number;
}

/** Looks through the texts of sessions while something is typed. Owner of which of them hold it, and where. */
export class SessionTextSearch {
  readonly #search: FindsTexts;
  readonly #onChange: () => void;
  readonly #snippets = new Map<string, string>();
  #running = new AbortController();
  #typing: NodeJS.Timeout | undefined;
  #shown: NodeJS.Timeout | undefined;
  #filesToRead = 0;
  #unread = 0;
  #problem: unknown;

  /** @param onChange called when something was found, or the search is over */
  constructor(search: FindsTexts, onChange: () => void) {
    this.#search = search;
    this.#onChange = onChange;
  }

  /** The place that was found in a session. */
  snippet(file: string): string | undefined {
    return this.#snippets.get(file);
  }

  /** How many sessions are being read, because the index does not know all of them. */
  get filesToRead(): number {
    return this.#filesToRead;
  }

  /** How many could not be read. */
  get unread(): number {
    return this.#unread;
  }

  /** What ended the search before it was done. */
  get problem(): unknown {
    return this.#problem;
  }

  /** Looks for something else. */
  look(query: string, options: TextScope): void {
    this.stop();
    this.#snippets.clear();
    this.#unread = 0;
    this.#problem = undefined;
    if (TOO_SHORT.test(query.trim())) return;
    this.#typing = setTimeout(() => void this.#find(query, options), TYPING_MS);
  }

  stop(): void {
    clearTimeout(this.#typing);
    clearTimeout(this.#shown);
    this.#shown = undefined;
    this.#running.abort();
    this.#filesToRead = 0;
  }

  async #find(query: string, { most, ...scope }: TextScope): Promise<void> {
    this.#running = new AbortController();
    const { signal } = this.#running;
    try {
      const options = { scope, limit: most, perSession: 1, signal };
      const found = await this.#search.find(parseSearchQuery(query), {
        ...options,
        onProgress: (progress) => signal.aborted || this.#progress(progress),
      });
      this.#unread = found.unread.length;
      // The best of each session.
      for (const { file, snippet } of found.hits) this.#snippets.set(file, snippet);
    } catch (error) {
      if (signal.aborted) return;
      this.#problem = error;
    }
    this.stop();
    this.#onChange();
  }

  #progress({ hits, filesToRead }: Pick<SearchFindings, "hits"> & { filesToRead: number }): void {
    this.#filesToRead = filesToRead;
    for (const { file, snippet } of hits) if (!this.#snippets.has(file)) this.#snippets.set(file, snippet);
    this.#shown ??= setTimeout(() => {
      this.#shown = undefined;
      this.#onChange();
    }, SHOWN_MS);
  }
}
