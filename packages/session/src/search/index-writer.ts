import { existsSync } from "node:fs";
import { setTimeout as delay, setImmediate as yieldToEventLoop } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";
import { isBusy } from "./index-database.ts";
import type { SearchIndex } from "./search-index.ts";
import { FILE_START, fieldTexts, SessionSource, type UnreadEntry } from "./source.ts";

/** Bytes read before other tasks get a turn: some 20 ms. */
const SLICE_BYTES = 1 << 16;
/** Bytes for each commit: fewer would take longer in all, more would delay other writers. */
const CHANGE_BYTES = 1 << 20;
/** Delay before the next attempt while another process writes, and the total limit. */
export const RETRY_MS = 100;
const MAX_BUSY_MS = 30_000;

/**
 * Brings the index up to date with session files, in small changes: each process continues the work of the others, and a
 * killed one loses only its last change.
 */
export class IndexWriter {
  readonly #index: SearchIndex;
  readonly #isOver: () => boolean;
  /** Files that could not be read. */
  readonly unread: string[] = [];

  constructor(index: SearchIndex, isOver: () => boolean) {
    this.#index = index;
    this.#isOver = isOver;
  }

  /**
   * Indexes the entries of the files that the index lacks.
   * @returns false if the time or the signal ended it earlier
   * @throws what SQLite throws, except that another process writes
   */
  async catchUp(files: readonly string[]): Promise<boolean> {
    const known = new Map(this.#index.files(files).map((file) => [file.path, file]));
    for (const file of files) {
      const source = new SessionSource(file);
      const last = known.get(file);
      if (last !== undefined && source.progress(last) === "complete") continue;
      try {
        if (!(await this.#catchUpFile(source))) return false;
      } catch (error) {
        // A file that is gone, unreadable or no session has nothing to be found.
        if (!isFileError(error)) throw error;
        this.unread.push(file);
      } finally {
        source.close();
      }
    }
    return true;
  }

  /** Removes files that are gone from the index. */
  async forget(existing: readonly string[]): Promise<boolean> {
    const exists = new Set(existing);
    for (const { id, path } of this.#index.files()) {
      const isGone = !exists.has(path) && !existsSync(path);
      if (isGone && !(await this.#change(async () => this.#index.removeFile(id)))) return false;
    }
    return true;
  }

  async #catchUpFile(source: SessionSource): Promise<boolean> {
    for (let before = -1; ; ) {
      if (this.#isOver()) return false;
      const known = this.#index.file(source.file);
      const progress = known === undefined ? "replaced" : source.progress(known);
      // A last line that is not written to its end is left for later.
      if (progress === "complete" || (progress === "grown" && known!.offset === before)) return true;
      before = progress === "grown" ? known!.offset : -1;
      if (!(await this.#change(() => this.#readOn(source)))) return false;
    }
  }

  /** Indexes the next part of a file, from the position known at this moment. */
  async #readOn(source: SessionSource): Promise<void> {
    const known = this.#index.file(source.file);
    const matches = known !== undefined && source.progress(known) !== "replaced";
    if (known !== undefined && !matches) this.#index.removeFile(known.id);
    const { offset, line, written, entries } = matches ? known : FILE_START;
    let position = { offset, line, written, entries };
    const { size, modifiedMs } = source.mark(position);
    const setFile = () => {
      const mark = { ...source.mark(position), size, modifiedMs };
      return this.#index.setFile({ path: source.file, ...mark, ...position });
    };
    const id = setFile();
    for (let slice = SLICE_BYTES; position.offset - offset < CHANGE_BYTES && position.offset < size; ) {
      const until = Math.min(size, position.offset + slice);
      const visit = (entry: UnreadEntry) => this.#add(id, entry);
      const next = source.visitEntries({ from: position, until, lastLine: false, visit });
      // A line can be longer than a slice.
      if (next.offset === position.offset && until === size) break;
      slice = next.offset === position.offset ? 2 * slice : SLICE_BYTES;
      position = next;
      if (this.#isOver()) break;
      await yieldToEventLoop();
    }
    setFile();
  }

  #add(file: number, { entryId, place, line: { offset, lengthBytes }, facts }: UnreadEntry): void {
    const read = facts();
    if (read === undefined || read.texts.length === 0) return;
    const { timeMs } = read;
    this.#index.addEntry(file, place, { entryId, offset, lengthBytes, timeMs, texts: fieldTexts(read) });
  }

  /**
   * Makes one change; waits while another process writes.
   * @returns false if time or the signal ended it, or another process does not stop writing
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

const FILE_ERRORS = ["session_empty", "not_a_session", "session_not_found", "session_unreadable"];

/** True for an error of one session file. */
export function isFileError(error: unknown): boolean {
  if (BonsaiError.is(error)) return FILE_ERRORS.includes(error.code);
  const { code, path } = error as NodeJS.ErrnoException;
  return path !== undefined || code === "ENOENT" || code === "EISDIR";
}
