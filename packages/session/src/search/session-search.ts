import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Session } from "../session.ts";
import { belongs, sessionFiles } from "../session-list.ts";
import { bonsaiHome } from "../store/new-file.ts";
import { type HitOptions, type Hits, patternHits, rankedHits } from "./hits.ts";
import { indexFolder, isBusy, isDatabaseError } from "./index-database.ts";
import { IndexWriter, RETRY_MS } from "./index-writer.ts";
import { type PatternQuery, parseQuery } from "./query.ts";
import { SearchIndex } from "./search-index.ts";
import { type EntrySource, SourceFile } from "./source.ts";

export interface SessionSearchOptions {
  /** Default: `bonsaiHome()`. */
  home?: string;
  /** False: each search reads the files, and no index is kept. Default: true. */
  index?: boolean;
  onNotice?: (notice: SearchNotice) => void;
}

/** A notice for the user, at most once for each `SessionSearch`. */
export interface SearchNotice {
  /** `index_unavailable`: the index cannot be made, read or written; the session files are read instead. */
  code: "index_unavailable";
  message: string;
}

/** The sessions to search: some files, an open session, those of a working folder, or, if empty, all recorded ones. */
export interface SearchScope {
  /** Session files, or files in another format with their readers. */
  sources?: readonly EntrySource[];
  /** An open session, with a file or in memory only. */
  session?: Session;
  cwd?: string;
  /** The sessions in this folder, instead of the recorded ones. */
  folder?: string;
}

export interface FindOptions extends HitOptions {
  scope?: SearchScope;
  /** True if a hit must contain the texts in double quotes. False if they only weigh more, as in a command. Default: true. */
  requiresPhrases?: boolean;
  /** Milliseconds to index missing entries before the search. Default: 1500. */
  budgetMs?: number;
  signal?: AbortSignal | undefined;
}

export interface SearchFindings extends Hits {
  /** Files in the scope. */
  files: number;
  /** Files with entries that the index lacks. The search skipped these entries. */
  unindexed: number;
  /** Files that could not be read. */
  unread: string[];
}

export interface CatchUpOptions {
  scope?: SearchScope;
  /** Default: until all is done. */
  budgetMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The index has all files, some of them, or there is none. */
export type IndexState = "complete" | "partial" | "unavailable";

const DEFAULT_BUDGET_MS = 1500;
/** Attempts while another process holds the index. */
const MAX_ATTEMPTS = 3;

/**
 * Finds entries of sessions by their text in the full-text index, which it updates first. If the index is off or unusable,
 * it makes one in memory for each search. The index is a cache in the folder `index` of the home folder; anybody may delete
 * it at any time.
 */
export class SessionSearch {
  readonly #options: SessionSearchOptions;
  readonly #home: string;
  #index: SearchIndex | undefined;
  #isNotified = false;

  constructor(options: SessionSearchOptions = {}) {
    this.#options = options;
    this.#home = options.home ?? bonsaiHome();
  }

  /** @throws the signal's reason, and what the file system throws for a folder that cannot be listed */
  async find(query: string | PatternQuery, options: FindOptions = {}): Promise<SearchFindings> {
    const { scope = {}, signal, budgetMs = DEFAULT_BUDGET_MS } = options;
    const sources = this.#sources(scope);
    const none = { hits: [], more: false, terms: [], files: sources.length, unindexed: 0, unread: [] };
    try {
      if (typeof query !== "string") return { ...none, ...(await patternHits(query, sources, options)) };
      const parsed = parseQuery(query, options.requiresPhrases);
      if (parsed.terms.length === 0) return none;
      const isInMemory = sources[0]?.file === "";
      const isOver = isOverAfter(budgetMs, signal);
      const search = async (index: SearchIndex, writer = new IndexWriter(index, isOver)) => {
        const { searchable, ...counts } = await writer.catchUp(sources);
        const hits = index.reading(() => rankedHits(index, { query: parsed, searchable }, options));
        return { ...none, ...counts, ...hits };
      };
      const found = isInMemory ? "unavailable" : await this.#withIndex(isOver, search);
      signal?.throwIfAborted();
      if (typeof found !== "string") return found;
      const memory = SearchIndex.inMemory();
      // Redacts the texts first, so that no search finds a secret.
      const writer = new IndexWriter(memory, isOverAfter(undefined, signal), options.secrets);
      const scanned = await search(memory, writer).finally(() => memory.close());
      signal?.throwIfAborted();
      return scanned;
    } finally {
      for (const source of sources) source.close();
    }
  }

  /**
   * Brings the index up to date, in small steps between which other tasks get a turn. It may be killed, and several
   * processes may do it at once.
   */
  async catchUp({ scope = {}, budgetMs, signal }: CatchUpOptions = {}): Promise<IndexState> {
    const sources = this.#sources(scope);
    // Without session files there is no need for an index.
    if (sources.length === 0 && !existsSync(indexFolder(this.#home))) return "complete";
    const isOver = isOverAfter(budgetMs, signal);
    return await this.#withIndex(isOver, async (index) => {
      const writer = new IndexWriter(index, isOver);
      const { unindexed } = await writer.catchUp(sources);
      const isAll = Object.keys(scope).length === 0;
      return unindexed === 0 && (!isAll || (await writer.forget(sources))) ? "complete" : "partial";
    });
  }

  /** Closes the index; the next call opens it again. */
  close(): void {
    this.#index?.close();
    this.#index = undefined;
  }

  #sources({ sources, session, cwd, folder }: SearchScope): SourceFile[] {
    if (session !== undefined)
      return [
        new SourceFile({ file: session.file ?? "" }, session.file === undefined ? session.store : undefined),
      ];
    if (sources !== undefined)
      return sources.map((source) => new SourceFile({ ...source, file: resolve(source.file) }));
    // Names begin with the time of the session's start: the newest entries get the highest numbers.
    const files = sessionFiles({ home: this.#home, cwd, folder }).map(
      (file) => [basename(file), file] as const,
    );
    const ordered = files
      .sort((a, b) => (`${a}` < `${b}` ? -1 : 1))
      .map(([, file]) => new SourceFile({ file }));
    return cwd === undefined ? ordered : ordered.filter((source) => isOfFolder(source, cwd));
  }

  /**
   * Works with the index, and builds a damaged one again.
   * @returns "partial" while another process holds the index, "unavailable" if it is off or unusable
   */
  async #withIndex<Value>(
    isOver: () => boolean,
    work: (index: SearchIndex) => Promise<Value>,
  ): Promise<Value | "partial" | "unavailable"> {
    let isDiscarded = false;
    for (let attempt = 1; this.#options.index !== false; attempt += 1) {
      let index: SearchIndex | undefined;
      try {
        if (this.#index?.isCurrent() === false) this.close();
        this.#index ??= SearchIndex.open(this.#home);
        index = this.#index;
        return await work(index);
      } catch (error) {
        if (isBusy(error)) {
          if (isOver() || attempt >= MAX_ATTEMPTS) return "partial";
          await delay(RETRY_MS);
        } else if (isDiscarded || index === undefined || !this.#isDiscarded(index, error)) {
          this.#notify(error);
          break;
        } else isDiscarded = true;
      }
    }
    return "unavailable";
  }

  /** Closes an index after an error, and deletes it after one of its database. */
  #isDiscarded(index: SearchIndex, error: unknown): boolean {
    if (this.#index === index) this.#index = undefined;
    try {
      if (isDatabaseError(error)) index.discard();
      else index.close();
      return true;
    } catch {
      // The file cannot be deleted: the caller reports the first error.
      return false;
    }
  }

  #notify(error: unknown): void {
    if (this.#isNotified) return;
    this.#isNotified = true;
    this.#options.onNotice?.({
      code: "index_unavailable",
      message: `Cannot use the full-text index in ${indexFolder(this.#home)} (${(error as Error).message}). Searching the session files instead, which is slower.`,
    });
  }
}

function isOverAfter(budgetMs = Number.POSITIVE_INFINITY, signal: AbortSignal | undefined): () => boolean {
  const endMs = performance.now() + budgetMs;
  return () => signal?.aborted === true || performance.now() > endMs;
}

/** True if the session belongs to a working folder, or cannot be read: then the search itself reports the file. */
function isOfFolder(source: SourceFile, cwd: string): boolean {
  try {
    return belongs(source.header().header, { cwd });
  } catch {
    return true;
  } finally {
    source.close();
  }
}
