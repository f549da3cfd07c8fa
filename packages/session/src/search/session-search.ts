import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import type { Session } from "../session.ts";
import { belongs, sessionFiles } from "../session-list.ts";
import { bonsaiHome } from "../store/new-file.ts";
import {
  bestFirst,
  compareText,
  distinct,
  firstOfEachFile,
  publicHit,
  RANKED_PER_HIT,
  readBest,
  type ScoredHit,
  type SessionHit,
} from "./hits.ts";
import { indexFolder, isBusy, isDatabaseError } from "./index-database.ts";
import { IndexWriter, RETRY_MS } from "./index-writer.ts";
import { type PatternQuery, QueryMatcher, type SearchQuery } from "./query.ts";
import { firstHits, type Hits, readCandidates, type SearchRequest, scan } from "./scan.ts";
import { type Candidate, SearchIndex } from "./search-index.ts";
import { type FilePosition, SessionSource } from "./source.ts";

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
  /** Maximum number of hits in each session. Default: no limit. */
  perSession?: number;
  /** `best` (default): the best hits first. `file`: the first hits in file order. It stops there, and uses no index. */
  order?: "best" | "file";
  /** Redacts the texts that are searched and shown. Default: a filter that knows no keys. */
  secrets?: SecretFilter;
  /** Called with hits as they are found, in no order, before the best of them are the result. */
  onProgress?: (progress: SearchProgress) => void;
  signal?: AbortSignal | undefined;
}

export interface SearchProgress {
  /** Hits since the last call. */
  hits: SessionHit[];
  /** Session files still to be read, because the index does not know all of their entries. */
  filesToRead: number;
}

export interface SearchFindings {
  /** Best first: by the occurrences and rarity of the terms and the entry's length, then the newest. Or in file order. */
  hits: SessionHit[];
  /** True if the limit left hits out. */
  more: boolean;
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

/** The answer of the index to a query. */
interface LookUp {
  /** The position from which each file must still be read; its start for files that are not listed. */
  indexed: ReadonlyMap<string, FilePosition>;
  candidates: readonly Candidate[];
  /** True if there may be more candidates. */
  isCut: boolean;
}

const NOTHING: LookUp = { indexed: new Map(), candidates: [], isCut: false };
const DEFAULT_LIMIT = 50;
/** Attempts of a catch-up while another process holds the index. */
const MAX_ATTEMPTS = 5;
/** Maximum number of candidates for each term, the newest first, unless more hits are requested. */
const MAX_CANDIDATES = 2000;
/** Candidates for each requested hit of a session: some candidates are no hits. */
const CANDIDATES_PER_HIT = 50;

/**
 * Finds entries of sessions by their text. It looks up indexed entries in the full-text index and reads them again in their
 * session. It reads all other entries, because the index is behind, off or unusable: both find the same. The index is a
 * cache in the folder `index` of the home folder; anybody may delete it at any time.
 */
export class SessionSearch {
  readonly #options: SessionSearchOptions;
  readonly #home: string;
  #index: SearchIndex | undefined;
  /** One catch-up at a time: they share a connection. */
  #writing: Promise<unknown> = Promise.resolve();
  #isNotified = false;

  constructor(options: SessionSearchOptions = {}) {
    this.#options = options;
    this.#home = options.home ?? bonsaiHome();
  }

  /** @throws the signal's reason, and what the file system throws for a folder that cannot be listed */
  async find(query: SearchQuery | PatternQuery, options: FindOptions = {}): Promise<SearchFindings> {
    const { scope = {}, limit = DEFAULT_LIMIT, perSession = Number.POSITIVE_INFINITY } = options;
    const { order, onProgress, secrets, signal } = options;
    const matcher = new QueryMatcher(query);
    const sources = matcher.isEmpty ? [] : this.#sources(scope);
    const request = { matcher, sources, limit, perSession, ...(secrets && { secrets }), signal, unread: [] };
    try {
      const { hits, isCut } = await (order === "file" ? firstHits(request) : this.#best(request, onProgress));
      const all = firstOfEachFile(distinct(hits), perSession);
      const { unread } = request;
      return { hits: all.slice(0, limit).map(publicHit), more: all.length > limit || isCut, unread };
    } finally {
      for (const source of sources) source.close();
    }
  }

  /**
   * Brings the index up to date, in small steps between which other tasks get a turn. It may be killed, and several
   * processes may do it at once.
   */
  async catchUp(options: CatchUpOptions = {}): Promise<IndexState> {
    const next = this.#writing.then(() => this.#catchUp(options));
    this.#writing = next.catch(() => {});
    return await next;
  }

  /** Closes the index; the next call opens it again. */
  close(): void {
    this.#index?.close();
    this.#index = undefined;
  }

  async #catchUp({
    scope = {},
    signal,
    budgetMs = Number.POSITIVE_INFINITY,
  }: CatchUpOptions): Promise<IndexState> {
    const endMs = performance.now() + budgetMs;
    const isOver = () => signal?.aborted === true || performance.now() > endMs;
    let isSecond = false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const files = this.#files(scope);
      // Without session files there is no need for an index.
      if (files.length === 0 && !existsSync(indexFolder(this.#home))) return "complete";
      let index: SearchIndex | undefined;
      try {
        index = this.#open();
        if (index === undefined) return "unavailable";
        const writer = new IndexWriter(index, isOver);
        const isComplete = await writer.catchUp(files);
        return isComplete && (await writer.forget((file) => !existsSync(file))) ? "complete" : "partial";
      } catch (error) {
        if (isOver()) return "partial";
        if (isBusy(error)) await delay(RETRY_MS);
        else if (isSecond || !this.#isDiscarded(index, error)) return this.#unavailable(error);
        else isSecond = true;
      }
    }
    return "partial";
  }

  async #best(request: SearchRequest, onProgress: FindOptions["onProgress"]): Promise<Hits> {
    const { matcher, sources } = request;
    const { indexed, candidates, isCut } = this.#lookUp(request);
    // The newest first.
    const toRead = sources.filter((source) => source.hasMore(indexed.get(source.file))).reverse();
    let filesToRead = toRead.length;
    const report = (hits: readonly ScoredHit[]) => onProgress?.({ hits: hits.map(publicHit), filesToRead });
    const early = await readCandidates(candidates, { request, report });
    const found = [...early.hits];
    for (const source of toRead) {
      const before = found.length;
      await scan(source, { request, hits: found, from: indexed.get(source.file) });
      filesToRead -= 1;
      report(found.slice(before));
    }
    const best = await readBest(found, { ...request, read: (hit) => hit });
    return { hits: bestFirst(best.hits, matcher), isCut: isCut || early.isCut || best.isCut };
  }

  #files({ file, session, cwd, folder }: SearchScope): string[] {
    const one = session === undefined ? file : session.file;
    if (one !== undefined) return [resolve(one)];
    if (session !== undefined) return [];
    // Names begin with the time of the session's start: the newest entries get the highest numbers.
    const files = sessionFiles({ home: this.#home, cwd, folder });
    return files.sort((a, b) => compareText(basename(a), basename(b)) || compareText(a, b));
  }

  #sources(scope: SearchScope): SessionSource[] {
    const { cwd, session } = scope;
    if (session !== undefined && session.file === undefined) return [new SessionSource("", session.store)];
    const sources = this.#files(scope).map((file) => new SessionSource(file));
    return cwd === undefined ? sources : sources.filter((source) => isOfFolder(source, cwd));
  }

  #lookUp({ matcher, sources, limit, perSession }: SearchRequest): LookUp {
    let index: SearchIndex | undefined;
    try {
      index = this.#open();
      if (index === undefined) return NOTHING;
      const known = new Map(index.files().map((file) => [file.path, file]));
      const current = sources.flatMap((source) => {
        const file = known.get(source.file);
        return file !== undefined && source.matches(file) ? [[file.path, file] as const] : [];
      });
      if (current.length === 0) return NOTHING;
      const indexed = new Map(current);
      const maxPerFile = CANDIDATES_PER_HIT * perSession;
      // If hits are limited by session, the newest candidates could all be of one session.
      const isLimited = limit !== Number.POSITIVE_INFINITY && maxPerFile === Number.POSITIVE_INFINITY;
      const maxPerTerm = isLimited
        ? Math.max(MAX_CANDIDATES, RANKED_PER_HIT * limit)
        : Number.POSITIVE_INFINITY;
      const candidates = index.candidates(matcher, { files: indexed, maxPerTerm, maxPerFile });
      if (candidates === undefined) return NOTHING;
      return { indexed, candidates, isCut: candidates.length >= maxPerTerm };
    } catch (error) {
      if (!isBusy(error) && !this.#isDiscarded(index, error)) this.#unavailable(error);
      return NOTHING;
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
