import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Session } from "../session.ts";
import { belongs, sessionFiles } from "../session-list.ts";
import { bonsaiHome } from "../store/session-folder.ts";
import type { FilePosition } from "./entry-lines.ts";
import { type IsWanted, scanned, scannedInMemory } from "./file-scan.ts";
import { type Found, hitOf, type SessionHit } from "./hit.ts";
import { IndexDatabase, indexFolder, isBusy, isDatabaseError } from "./index-database.ts";
import { IndexWriter, RETRY_MS, turn } from "./index-writer.ts";
import { bestHits, inOrder, RANKED_PER_HIT, ranked, readCandidate } from "./ranking.ts";
import { type Candidate, type CandidateRange, SearchIndex } from "./search-index.ts";
import { type SearchQuery, TermMatcher } from "./search-query.ts";
import { SessionSource } from "./session-source.ts";

export interface SessionSearchOptions {
  /** Default: `bonsaiHome()`. */
  home?: string;
  /** False: the files are read at each search, and nothing is kept. Default: true. */
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
  /** An open session, whether it has a file or is in memory only. */
  session?: Session;
  cwd?: string;
  /** The sessions that lie in this folder, in place of the recorded ones. */
  folder?: string;
}

export interface FindOptions {
  scope?: SearchScope;
  /** At most so many hits. Default: 50. */
  limit?: number;
  /** At most so many of each session. Default: no bound. */
  perSession?: number;
  /** False for an entry that is to be left out. Default: none is. */
  isWanted?: IsWanted;
  /** Called with hits as they come, in no order, before the best of them are the result. */
  onProgress?: (progress: SearchProgress) => void;
  signal?: AbortSignal | undefined;
}

export interface SearchProgress {
  /** Hits since the last call. */
  hits: SessionHit[];
  /** Session files that are still to be read, for the index does not know all of them. */
  filesToRead: number;
}

export interface SearchFindings {
  /** Best first: by how often the terms stand there, how rare they are and how short the entry is; then the newest. */
  hits: SessionHit[];
  /** True where there are more than the limit let through. */
  more: boolean;
  /** Session files that could not be read. */
  unread: string[];
}

/** How far a catch-up goes. */
export interface CatchUpOptions {
  scope?: SearchScope;
  /** Default: until all is done. */
  budgetMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** How far the index is: of all files, of a part of them, or that there is none. */
export type IndexState = "complete" | "partial" | "unavailable";

/** One search, with its defaults. */
interface Asked extends FindOptions {
  matcher: TermMatcher;
  scope: SearchScope;
  sources: readonly SessionSource[];
  limit: number;
  perSession: number;
  isWanted: IsWanted;
}

/** The answer of the index to a query. */
interface LookUp {
  /** From where each file is to be read beside; from its start where it is not in here. */
  indexed: ReadonlyMap<string, FilePosition>;
  candidates: readonly Candidate[];
  /** Hits among the entries that are too long to be looked up. */
  found: readonly Found[];
  sources: ReadonlyMap<number, SessionSource>;
  /** True where there may be more candidates. */
  isCut: boolean;
}

const NOTHING: LookUp = { indexed: new Map(), candidates: [], found: [], sources: new Map(), isCut: false };
const USUAL_LIMIT = 50;
/** Attempts of a catch-up while another process holds the index. */
const MAX_ATTEMPTS = 5;
/** Maximum number of candidates for each term, the newest first, unless more hits are requested. */
const MAX_CANDIDATES = 2000;
/** Candidates for each requested hit of a session: some candidates are no hits. */
const CANDIDATES_PER_HIT = 50;

/**
 * Finds entries in session files by their text. What the full-text index knows is looked up there and read again in the
 * session; what it does not know, because it is behind, off or unusable, is read: both find the same. The index is a cache
 * below `index` in the home folder; anybody may delete it at any time.
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
  async find(query: SearchQuery, options: FindOptions = {}): Promise<SearchFindings> {
    const { scope = {}, limit = USUAL_LIMIT, perSession = Number.POSITIVE_INFINITY } = options;
    const { isWanted = () => true } = options;
    const matcher = new TermMatcher(query);
    const sources = matcher.terms.length === 0 ? [] : this.#sources(scope);
    const unread = new Set<string>();
    try {
      const asked = { ...options, matcher, scope, sources, limit, perSession, isWanted };
      const { hits, isCut } = await this.#found(asked, unread);
      const all = ranked(matcher, { hits, perSession });
      return { hits: all.slice(0, limit).map(hitOf), more: all.length > limit || isCut, unread: [...unread] };
    } finally {
      for (const source of sources) source.close();
    }
  }

  /**
   * Brings the index up to date, in small steps between which other things have their turn. Safe to be killed, and to be
   * done by several processes.
   */
  async catchUp(options: CatchUpOptions = {}): Promise<IndexState> {
    const next = this.#writing.then(() => this.#catchUp(options));
    this.#writing = next.catch(() => {});
    return next;
  }

  /** Ends the use of the index; a catch-up that is under way should be ended by its signal before. */
  close(): void {
    this.#index?.place.close();
    this.#index = undefined;
  }

  async #catchUp({ scope = {}, ...end }: CatchUpOptions): Promise<IndexState> {
    const isOver = endOf(end);
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
        const isAll = !isOfOne(scope) && scope.cwd === undefined && scope.folder === undefined;
        const isGone = (file: string) => !existsSync(file);
        return isComplete && (!isAll || (await writer.forget(isGone))) ? "complete" : "partial";
      } catch (error) {
        if (isOver()) return "partial";
        if (isBusy(error)) await turn(RETRY_MS);
        else if (!this.#isDiscarded(index, error) || isSecond) return this.#unavailable(error);
        else isSecond = true;
      }
    }
    return "partial";
  }

  async #found(asked: Asked, unread: Set<string>): Promise<{ hits: readonly Found[]; isCut: boolean }> {
    const { matcher, scope, sources, limit, perSession, isWanted, onProgress, signal } = asked;
    const { session } = scope;
    if (session !== undefined && session.file === undefined) {
      const hits = await scannedInMemory(matcher, { session, isWanted, signal });
      return { hits, isCut: false };
    }
    const known = this.#lookUp(asked);
    // The newest first.
    const toRead = sources.filter((source) => source.hasMore(known.indexed.get(source.file))).reverse();
    let filesToRead = toRead.length;
    const onFound = (hits: readonly Found[]) => onProgress?.({ hits: hits.map(hitOf), filesToRead });
    const range = { limit, perSession, signal };
    const early = await bestHits(matcher, { ...known, ...range, onFound });
    const read = await scanned(matcher, {
      ...{ sources: toRead, indexed: known.indexed, unread, isWanted, signal },
      onRead: (hits) => {
        filesToRead -= 1;
        onFound(hits);
      },
    });
    const best = await bestHits(matcher, { ...NOTHING, ...range, found: [...early.hits, ...read] });
    return { hits: best.hits, isCut: early.isCut || best.isCut || known.isCut };
  }

  #files({ file, session, cwd, folder }: SearchScope): string[] {
    const one = session === undefined ? file : session.file;
    if (one !== undefined) return [resolve(one)];
    if (session !== undefined) return [];
    const place = {
      home: this.#home,
      ...(cwd !== undefined && { cwd }),
      ...(folder !== undefined && { folder }),
    };
    const files = sessionFiles(place);
    // Their names begin with when they were made: the newest entries get the highest numbers.
    return files.sort((a, b) => inOrder(basename(a), basename(b)) || inOrder(a, b));
  }

  #sources(scope: SearchScope): SessionSource[] {
    const sources = this.#files(scope).map((file) => new SessionSource(file));
    const { cwd } = scope;
    return cwd === undefined ? sources : sources.filter((source) => isOfFolder(source, cwd));
  }

  #lookUp(asked: Asked): LookUp {
    const { matcher, sources } = asked;
    let index: SearchIndex | undefined;
    try {
      index = this.#open();
      if (index === undefined) return NOTHING;
      const rows = new Map(index.files().map((row) => [row.path, row]));
      const sound = sources.flatMap((source) => {
        const row = rows.get(source.file);
        return row !== undefined && source.holds(row) ? [{ row, source }] : [];
      });
      if (sound.length === 0) return NOTHING;
      const bySource = new Map(sound.map(({ row, source }) => [row.id, source]));
      const range = rangeOf(asked, bySource);
      const candidates = index.candidates(matcher, range);
      if (candidates === undefined) return NOTHING;
      const found = index.longEntries(range).flatMap((long) => {
        return readCandidate(long, { matcher, source: bySource.get(long.file)! }) ?? [];
      });
      const indexed = new Map(sound.map(({ row }) => [row.path, row]));
      return { indexed, candidates, found, sources: bySource, isCut: candidates.length >= range.maxPerTerm };
    } catch (error) {
      if (!isBusy(error) && !this.#isDiscarded(index, error)) this.#unavailable(error);
      return NOTHING;
    }
  }

  /** The index, opened anew where its file was deleted; undefined where it is off. */
  #open(): SearchIndex | undefined {
    if (this.#options.index === false) return undefined;
    if (this.#index?.place.isCurrent() === false) this.close();
    this.#index ??= new SearchIndex(IndexDatabase.open(this.#home));
    return this.#index;
  }

  /** Closes an index after an error of its database, and deletes it. Returns false if there is none. */
  #isDiscarded(index: SearchIndex | undefined, error: unknown): boolean {
    if (index === undefined) return false;
    if (this.#index === index) this.#index = undefined;
    try {
      if (isDatabaseError(error)) index.place.discard();
      else index.place.close();
      return true;
    } catch {
      // The file cannot be deleted: the caller reports the first error.
      return false;
    }
  }

  #unavailable(error: unknown): "unavailable" {
    this.#notify(error);
    return "unavailable";
  }

  #notify(error: unknown): void {
    if (this.#isNotified) return;
    this.#isNotified = true;
    const { message } = error as Error;
    this.#options.onNotice?.({
      code: "index_unavailable",
      message: `Cannot use the full-text index in ${indexFolder(this.#home)} (${message}). Searching the session files instead, which is slower.`,
    });
  }
}

/** Which candidates are looked at. */
function rangeOf(
  { scope, limit, perSession, isWanted }: Asked,
  sources: ReadonlyMap<number, SessionSource>,
): CandidateRange {
  const maxPerFile = CANDIDATES_PER_HIT * perSession;
  // If hits are limited by session, the newest candidates could all be of one session.
  const isBounded = limit !== Number.POSITIVE_INFINITY && maxPerFile === Number.POSITIVE_INFINITY;
  return {
    maxPerTerm: isBounded ? Math.max(MAX_CANDIDATES, RANKED_PER_HIT * limit) : Number.POSITIVE_INFINITY,
    maxPerFile,
    file: isOfOne(scope) ? [...sources.keys()][0] : undefined,
    isWanted: (id, entryId) => {
      const source = sources.get(id);
      return source !== undefined && isWanted({ file: source.file, entryId });
    },
  };
}

function isOfOne({ file, session }: SearchScope): boolean {
  return file !== undefined || session !== undefined;
}

function endOf({ signal, budgetMs = Number.POSITIVE_INFINITY }: CatchUpOptions): () => boolean {
  const endMs = performance.now() + budgetMs;
  return () => signal?.aborted === true || performance.now() > endMs;
}

function isOfFolder(source: SessionSource, cwd: string): boolean {
  try {
    return belongs({ cwd: source.cwd() }, { cwd });
  } catch {
    // The search itself reports unreadable files.
    return true;
  } finally {
    source.close();
  }
}
