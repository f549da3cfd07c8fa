import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import type { Session } from "../session.ts";
import { belongs, sessionFiles } from "../session-list.ts";
import { bonsaiHome } from "../store/new-file.ts";
import { bestPlace, containsPhrases, hitOf, type SessionHit } from "./hits.ts";
import { indexFolder, isBusy, isDatabaseError } from "./index-database.ts";
import { IndexWriter, RETRY_MS } from "./index-writer.ts";
import { type PatternQuery, parseQuery, type Query, type ShownTerm } from "./query.ts";
import { fileOf, type Postings, rankEntries } from "./ranking.ts";
import { patternHits, scannedPostings } from "./scan.ts";
import { type EntryPlace, SearchIndex } from "./search-index.ts";
import { SessionSource } from "./source.ts";

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

/** The sessions to search: one session, those of a working folder, or, if empty, all recorded ones. */
export interface SearchScope {
  file?: string;
  /** An open session, with a file or in memory only. */
  session?: Session;
  cwd?: string;
  /** The sessions in this folder, instead of the recorded ones. */
  folder?: string;
}

export interface FindOptions {
  scope?: SearchScope;
  /** Maximum number of hits. Default: 50. */
  limit?: number;
  /** Maximum number of hits in each session. With it, an entry is a hit in each of its forks. Default: no limit. */
  perSession?: number;
  /** Only these entries are hits. Default: all. */
  entryIds?: ReadonlySet<string>;
  /** True if a hit must contain the texts in double quotes. False if they only weigh more, as in a command. Default: true. */
  requiresPhrases?: boolean;
  /** Redacts the texts that are searched and shown. Default: a filter that knows no keys. */
  secrets?: SecretFilter;
  /** Milliseconds to index missing entries before the search. Default: 1500. */
  budgetMs?: number;
  signal?: AbortSignal | undefined;
}

export interface SearchFindings {
  /** Best first. For a pattern, in file order. */
  hits: SessionHit[];
  /** True if the limit removed hits. */
  more: boolean;
  /** The found words, for the choice of lines to show. */
  terms: readonly ShownTerm[];
  /** Session files in the scope. */
  files: number;
  /** Files with entries that the index lacks. The search skipped these entries. */
  unindexed: number;
  /** Session files that could not be read. */
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

const DEFAULT_LIMIT = 50;
const DEFAULT_BUDGET_MS = 1500;
/** Attempts of a catch-up while another process holds the index. */
const MAX_ATTEMPTS = 5;
/** A list of sessions is not sorted by rank, so weak hits would be between good ones. */
const MIN_SHARE_PER_SESSION = 0.4;

/** Searches entries, with the index or by reading the files. */
interface Searchable {
  postings: Postings;
  place: (entry: number) => EntryPlace | undefined;
  source: (entry: number) => SessionSource | undefined;
}

type Found = Pick<SearchFindings, "hits" | "more" | "terms">;

/**
 * Finds entries of sessions by their text, in the full-text index or, if it is off or unusable, by reading all files. One
 * ranking serves both. The index is a cache in the folder `index` of the home folder; anybody may delete it at any time.
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
    const { scope = {}, limit = DEFAULT_LIMIT, secrets, signal } = options;
    const sources = this.#sources(scope);
    const unread: string[] = [];
    const reading = { sources, secrets, signal, onUnread: (file: string) => unread.push(file) };
    const counts = { files: sources.length, unindexed: 0, unread };
    try {
      if (typeof query !== "string") {
        const hits = await patternHits(query, { ...reading, limit });
        return { hits: hits.slice(0, limit), more: hits.length > limit, terms: [], ...counts };
      }
      const parsed = parseQuery(query, options.requiresPhrases);
      if (parsed.terms.length === 0) return { hits: [], more: false, terms: [], ...counts };
      const indexed = await this.#findIndexed(parsed, sources, options);
      if (indexed !== undefined) return { ...counts, ...indexed };
      return { ...hitsIn(await scanned(parsed, reading), parsed, options), ...counts };
    } finally {
      for (const source of sources) source.close();
    }
  }

  /**
   * Brings the index up to date, in small steps between which other tasks get a turn. It may be killed, and several
   * processes may do it at once.
   */
  async catchUp(options: CatchUpOptions = {}): Promise<IndexState> {
    return (await this.#catchUp(this.#files(options.scope ?? {}), options)).state;
  }

  /** Closes the index; the next call opens it again. */
  close(): void {
    this.#index?.close();
    this.#index = undefined;
  }

  async #catchUp(
    files: readonly string[],
    { scope = {}, signal, budgetMs = Number.POSITIVE_INFINITY }: CatchUpOptions,
  ): Promise<{ state: IndexState; unread: string[] }> {
    const endMs = performance.now() + budgetMs;
    const isOver = () => signal?.aborted === true || performance.now() > endMs;
    const isAll = Object.keys(scope).length === 0;
    let isSecond = false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      // Without session files there is no need for an index.
      if (files.length === 0 && !existsSync(indexFolder(this.#home))) break;
      let index: SearchIndex | undefined;
      try {
        index = this.#open();
        if (index === undefined) return { state: "unavailable", unread: [] };
        const writer = new IndexWriter(index, isOver);
        const isComplete = (await writer.catchUp(files)) && (!isAll || (await writer.forget(files)));
        return { state: isComplete ? "complete" : "partial", unread: writer.unread };
      } catch (error) {
        if (isOver()) return { state: "partial", unread: [] };
        if (isBusy(error)) await delay(RETRY_MS);
        else if (isSecond || !this.#isDiscarded(index, error))
          return { state: this.#unavailable(error), unread: [] };
        else isSecond = true;
      }
    }
    return { state: files.length === 0 ? "complete" : "partial", unread: [] };
  }

  #files({ file, session, cwd, folder }: SearchScope): string[] {
    const one = session === undefined ? file : session.file;
    if (one !== undefined) return [resolve(one)];
    if (session !== undefined) return [];
    // Names begin with the time of the session's start: the newest entries get the highest numbers.
    const files = sessionFiles({ home: this.#home, cwd, folder });
    const byStart = files.map((path) => [basename(path), path] as const);
    return byStart.sort((a, b) => (`${a}` < `${b}` ? -1 : 1)).map(([, path]) => path);
  }

  #sources(scope: SearchScope): SessionSource[] {
    const { cwd, session } = scope;
    if (session !== undefined && session.file === undefined) return [new SessionSource("", session.store)];
    const sources = this.#files(scope).map((file) => new SessionSource(file));
    return cwd === undefined ? sources : sources.filter((source) => isOfFolder(source, cwd));
  }

  /** Updates the index and searches it. Undefined if the index is unusable. */
  async #findIndexed(
    query: Query,
    sources: readonly SessionSource[],
    options: FindOptions,
  ): Promise<(Found & Pick<SearchFindings, "unindexed" | "unread">) | undefined> {
    const { scope = {}, budgetMs = DEFAULT_BUDGET_MS, signal } = options;
    const { session } = scope;
    if (session !== undefined && session.file === undefined) return undefined;
    const files = sources.map(({ file }) => file);
    const { state, unread } = await this.#catchUp(files, { scope, budgetMs, signal });
    signal?.throwIfAborted();
    if (state === "unavailable") return undefined;
    let index: SearchIndex | undefined;
    try {
      index = this.#open();
      if (index === undefined) return undefined;
      const opened = index;
      const left = new Map(sources.map((source) => [source.file, source]));
      for (const file of unread) left.delete(file);
      const known = new Map<number, SessionSource>();
      const postings = opened.postings(opened.files(files), (file) => {
        const source = left.get(file.path);
        const progress = state === "complete" ? "complete" : source?.progress(file);
        if (source === undefined || progress === "replaced") return false;
        known.set(file.id, source);
        if (progress === "complete") left.delete(file.path);
        return true;
      });
      const searchable: Searchable = {
        postings,
        place: (entry) => opened.entry(entry),
        source: (entry) => known.get(fileOf(entry)),
      };
      const found = opened.reading(() => hitsIn(searchable, query, options));
      return { ...found, unindexed: left.size, unread };
    } catch (error) {
      if (!isBusy(error) && !this.#isDiscarded(index, error)) this.#unavailable(error);
      return undefined;
    }
  }

  /** The index, opened again if its file was deleted; undefined if it is off. */
  #open(): SearchIndex | undefined {
    if (this.#options.index === false) return undefined;
    if (this.#index?.isCurrent() === false) this.close();
    this.#index ??= SearchIndex.open(this.#home);
    return this.#index;
  }

  /** Closes an index after an error, and deletes it after one of its database. Returns false if there is none. */
  #isDiscarded(index: SearchIndex | undefined, error: unknown): boolean {
    if (index === undefined) return false;
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

  #unavailable(error: unknown): "unavailable" {
    if (!this.#isNotified)
      this.#options.onNotice?.({
        code: "index_unavailable",
        message: `Cannot use the full-text index in ${indexFolder(this.#home)} (${(error as Error).message}). Searching the session files instead, which is slower.`,
      });
    this.#isNotified = true;
    return "unavailable";
  }
}

/** True if the session belongs to a working folder, or cannot be read: then the search itself reports the file. */
function isOfFolder(source: SessionSource, cwd: string): boolean {
  try {
    return belongs(source.header().header, { cwd });
  } catch {
    return true;
  } finally {
    source.close();
  }
}

async function scanned(query: Query, reading: Parameters<typeof scannedPostings>[1]): Promise<Searchable> {
  const { postings, places } = await scannedPostings(query, reading);
  return {
    postings,
    place: (entry) => places.get(entry),
    source: (entry) => reading.sources[fileOf(entry)],
  };
}

/** Reads the best entries until there are enough hits. An entry in several forks is one hit. */
function hitsIn(
  { postings, place, source }: Searchable,
  query: Query,
  { limit = DEFAULT_LIMIT, perSession = Number.POSITIVE_INFINITY, entryIds, secrets }: FindOptions,
): Found {
  const { entries, terms } = rankEntries(query, postings);
  const isPerSession = perSession !== Number.POSITIVE_INFINITY;
  let minScore: number | undefined;
  const hits: SessionHit[] = [];
  const seen = new Set<string>();
  const counts = new Map<string, number>();
  for (const { entry, score } of entries) {
    minScore ??= isPerSession ? MIN_SHARE_PER_SESSION * score : 0;
    if (hits.length > limit || score < minScore) break;
    const [own, found] = [source(entry), place(entry)];
    if (own === undefined || found === undefined) continue;
    const { entryId, timeMs, lengthBytes } = found;
    const count = counts.get(own.file) ?? 0;
    const key = [entryId, timeMs, isPerSession ? own.file : lengthBytes].join(" ");
    if (seen.has(key) || count >= perSession || entryIds?.has(entryId) === false) continue;
    const facts = own.entryAt(found, secrets);
    if (facts === undefined || !containsPhrases(facts.texts, query.phrases)) continue;
    seen.add(key);
    counts.set(own.file, count + 1);
    hits.push(hitOf(facts, own.file, bestPlace(facts.texts, terms)));
  }
  return { hits: hits.slice(0, limit), more: hits.length > limit, terms };
}
