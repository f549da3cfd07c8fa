import { existsSync } from "node:fs";
import { setTimeout as delay, setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import { isBusy } from "./index-database.ts";
import type { IndexedFile, SearchIndex } from "./search-index.ts";
import { FILE_START, type SourceFile } from "./source.ts";

/** Bytes for each commit: fewer would take longer in all, more would delay other writers. */
const CHANGE_BYTES = 1 << 20;
/** Delay before the next attempt while another process writes, and the total limit. */
export const RETRY_MS = 100;
const MAX_BUSY_MS = 30_000;

/** The files that the index can search now. */
export interface CaughtUp {
  searchable: { source: SourceFile; row: IndexedFile }[];
  /** Number of files with entries that the index lacks. */
  unindexed: number;
  /** Files that could not be read. */
  unread: string[];
}

/**
 * Brings the index up to date with its files, in small changes: each process continues the work of the others, and a
 * killed one loses only its last change.
 */
export class IndexWriter {
  readonly #index: SearchIndex;
  readonly #isOver: () => boolean;
  readonly #secrets: SecretFilter | undefined;

  /** @param secrets redacts the indexed texts */
  constructor(index: SearchIndex, isOver: () => boolean, secrets?: SecretFilter) {
    this.#index = index;
    this.#isOver = isOver;
    this.#secrets = secrets;
  }

  /**
   * Indexes the entries that the index lacks, until the time is over.
   * @throws what SQLite throws, except that another process writes
   */
  async catchUp(sources: readonly SourceFile[]): Promise<CaughtUp> {
    const known = new Map(this.#index.files().map((row) => [row.path, row]));
    const states = new Map(sources.map((source) => [source, stateOf(source, known.get(source.file))]));
    for (;;) {
      const left = sources.filter((source) => isUnfinished(states.get(source)!));
      const read = new Map<SourceFile, FileState>();
      if (left.length === 0 || !(await this.#change(() => this.#readSome(left, read)))) break;
      for (const [source, state] of read) states.set(source, state);
    }
    const caughtUp: CaughtUp = { searchable: [], unindexed: 0, unread: [] };
    for (const [source, state] of states) {
      if (state.progress === "unread") caughtUp.unread.push(source.file);
      else if (isUnfinished(state)) caughtUp.unindexed += 1;
      if (state.row !== undefined) caughtUp.searchable.push({ source, row: state.row });
    }
    return caughtUp;
  }

  /** Reads files until there is enough for one change. A commit for each small file would take four times as long. */
  async #readSome(sources: readonly SourceFile[], read: Map<SourceFile, FileState>): Promise<void> {
    read.clear();
    let bytes = 0;
    for (const source of sources) {
      const from = this.#index.file(source.file)?.offset ?? 0;
      const state = await this.#readOn(source);
      read.set(source, state);
      bytes += Math.max(0, (state.row?.offset ?? 0) - from);
      if (this.#isOver() || bytes >= CHANGE_BYTES) return;
    }
  }

  /** Removes files that are gone from the index. Returns false if the time was over. */
  async forget(sources: readonly SourceFile[]): Promise<boolean> {
    const existing = new Set(sources.map(({ file }) => file));
    for (const { id, path } of this.#index.files()) {
      const isGone = !existing.has(path) && !existsSync(path.replace(/#[^#]*$/, ""));
      if (isGone && !(await this.#change(async () => this.#index.removeFile(id)))) return false;
    }
    return true;
  }

  /** Indexes the next part of a file, from the position known at this moment. */
  async #readOn(source: SourceFile): Promise<FileState> {
    const known = this.#index.file(source.file);
    try {
      return await this.#readAfter(source, known);
    } catch (error) {
      // A file that is gone, unreadable or no session has nothing to be found.
      if (!isFileError(error)) throw error;
      const row = this.#index.file(source.file);
      if (row !== undefined) this.#index.removeFile(row.id);
      return { progress: "unread" };
    } finally {
      source.close();
    }
  }

  async #readAfter(source: SourceFile, known: IndexedFile | undefined): Promise<FileState> {
    const { progress } = stateOf(source, known);
    if (progress === "complete") return { row: known, progress };
    if (known !== undefined && progress === "replaced") this.#index.removeFile(known.id);
    const from = progress === "grown" ? known! : FILE_START;
    let position = from;
    let isEnd = true;
    const mark = source.mark();
    const path = source.file;
    const { id } = this.#index.setFile({ path, ...mark, ...from, fingerprint: "" });
    for (const slice of source.slices({ from, until: mark.size }, this.#secrets)) {
      for (const entry of slice.entries) this.#index.addEntry(id, entry);
      position = slice.position;
      await yieldToEventLoop();
      isEnd = position.offset >= mark.size;
      if (this.#isOver() || position.offset - from.offset >= CHANGE_BYTES) break;
      isEnd = true;
    }
    const fingerprint = source.fingerprint(position.offset);
    const size = isEnd ? mark.size : position.offset;
    const row = this.#index.setFile({ path, ...mark, ...position, size, fingerprint });
    return { row, progress: isEnd ? "complete" : "grown" };
  }

  /**
   * Makes one change; waits while another process writes.
   * @returns false if the time is over, or another process does not stop writing
   */
  async #change(work: () => Promise<void>): Promise<boolean> {
    const lastMs = performance.now() + MAX_BUSY_MS;
    while (!this.#isOver() && performance.now() < lastMs) {
      try {
        await this.#index.change(work);
        await yieldToEventLoop();
        return true;
      } catch (error) {
        if (!isBusy(error)) throw error;
        await delay(RETRY_MS);
      }
    }
    return false;
  }
}

/** The index's state of a file; a row only if its entries are those of the file. */
interface FileState {
  row?: IndexedFile | undefined;
  progress: ReturnType<SourceFile["progress"]> | "unread";
}

function stateOf(source: SourceFile, known: IndexedFile | undefined): FileState {
  try {
    const progress = known === undefined ? "replaced" : source.progress(known);
    return { row: progress === "replaced" ? undefined : known, progress };
  } finally {
    source.close();
  }
}

function isUnfinished({ progress }: FileState): boolean {
  return progress === "grown" || progress === "replaced";
}

const FILE_ERRORS = ["session_empty", "not_a_session", "session_unreadable", "EISDIR"];

/** True for an error of one searched file. */
export function isFileError(error: unknown): boolean {
  const { code = "", path } = error as NodeJS.ErrnoException;
  return path !== undefined || FILE_ERRORS.includes(code);
}
