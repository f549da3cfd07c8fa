import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry } from "../entry.ts";
import { type EntryFacts, type EntryLine, entryFacts, FILE_START, type FilePosition } from "./entry-lines.ts";
import { isBusy } from "./index-database.ts";
import type { IndexedFile, SearchIndex } from "./search-index.ts";
import { SessionSource } from "./session-source.ts";

/** Read at once, before other things have their turn: some 20 ms. */
const SLICE_BYTES = 1 << 16;
/** Bytes for each commit: fewer would take longer in all, more would delay other writers. */
const CHANGE_BYTES = 1 << 22;
/** An entry with more text, or a longer line, is looked at by each search instead. */
const LONG_CHARACTERS = 1 << 18;
const LONG_LINE_BYTES = 1 << 22;
/** Delay before the next attempt while another process writes, and the total limit. */
export const RETRY_MS = 100;
const MAX_BUSY_MS = 30_000;

/**
 * Brings the index up to date with session files, in small changes: of several processes at it, each goes on where the
 * others have come to, and one that is killed loses its last change.
 */
export class IndexWriter {
  readonly #index: SearchIndex;
  readonly #isOver: () => boolean;
  /** Entries that were added. */
  added = 0;

  constructor(index: SearchIndex, isOver: () => boolean) {
    this.#index = index;
    this.#isOver = isOver;
  }

  /**
   * Indexes what the files hold and the index does not.
   * @returns false where the time or the signal ended it before
   * @throws what SQLite throws, but for another process that writes
   */
  async catchUp(files: readonly string[]): Promise<boolean> {
    for (const file of files) {
      const source = new SessionSource(file);
      try {
        if (!(await this.#catchUpFile(source))) return false;
      } catch (error) {
        // A file that is gone, unreadable or no session has nothing to be found.
        if (!isOfFile(error)) throw error;
      } finally {
        source.close();
      }
    }
    return true;
  }

  /** Forgets files that are gone. */
  async forget(isGone: (file: string) => boolean): Promise<boolean> {
    for (const { id, path } of this.#index.files()) {
      if (!isGone(path)) continue;
      if (!(await this.#change(async () => this.#index.removeFile(id)))) return false;
    }
    return true;
  }

  async #catchUpFile(source: SessionSource): Promise<boolean> {
    for (let before = -1; ; ) {
      if (this.#isOver()) return false;
      const row = this.#index.file(source.file);
      const isHeld = row !== undefined && source.holds(row);
      // A last line that is not written to its end is left for later.
      if (isHeld && (row.offset === before || row.offset >= source.size())) return true;
      before = isHeld ? row.offset : -1;
      if (!(await this.#change(() => this.#readOn(source)))) return false;
    }
  }

  /** Indexes the next part of a file, from where it is known to at this moment. */
  async #readOn(source: SessionSource): Promise<void> {
    const known = this.#index.file(source.file);
    const isHeld = known !== undefined && source.holds(known);
    if (known !== undefined && !isHeld) this.#index.removeFile(known.id);
    let position: FilePosition = isHeld ? positionOf(known) : FILE_START;
    const { size, modified_ms } = source.mark(position);
    const id = this.#setFile(source, { position, size, modified_ms });
    const lines = source.lines();
    const visit = (line: EntryLine) => this.#add(id, line);
    const from = position.offset;
    for (let slice = SLICE_BYTES; position.offset - from < CHANGE_BYTES && position.offset < size; ) {
      const until = Math.min(size, position.offset + slice);
      const next = lines.read({ from: position, until, lastLine: false, visit });
      // A line can be longer than a slice.
      if (next.offset === position.offset && until === size) break;
      slice = next.offset === position.offset ? 2 * slice : SLICE_BYTES;
      position = next;
      if (this.#isOver()) break;
      await turn();
    }
    this.#setFile(source, { position, size, modified_ms });
  }

  #setFile(
    source: SessionSource,
    { position, ...seen }: { position: FilePosition; size: number; modified_ms: number },
  ): number {
    return this.#index.setFile({ path: source.file, ...source.mark(position), ...seen, ...position });
  }

  #add(file: number, { entryId, line, entry }: EntryLine): void {
    const { offset, lengthBytes } = line;
    const facts = lengthBytes > LONG_LINE_BYTES ? undefined : read(entry());
    if (facts?.texts.length === 0) return;
    const characters = facts?.texts.reduce((sum, text) => sum + text.length, 0) ?? lengthBytes;
    const texts = characters > LONG_CHARACTERS ? undefined : facts?.texts;
    const timeMs = facts?.timeMs ?? 0;
    this.#index.addEntry(file, { entryId, offset, lengthBytes, characters, timeMs, texts });
    this.added += 1;
  }

  /**
   * One change as a whole or not at all; waits while another process writes.
   * @returns false where time or the signal ended it, or another process goes on and on
   */
  async #change(work: () => Promise<void>): Promise<boolean> {
    const lastMs = performance.now() + MAX_BUSY_MS;
    while (!this.#isOver() && performance.now() < lastMs) {
      const { added } = this;
      try {
        this.#index.begin();
        await work();
        this.#index.commit();
        await turn();
        return true;
      } catch (error) {
        this.added = added;
        this.#index.rollback();
        if (!isBusy(error)) throw error;
        await turn(RETRY_MS);
      }
    }
    return false;
  }
}

function read(entry: Entry | undefined): Pick<EntryFacts, "texts" | "timeMs"> {
  return entry === undefined ? { texts: [], timeMs: 0 } : entryFacts(entry);
}

function positionOf({ offset, line, written }: IndexedFile): FilePosition {
  return { offset, line, written };
}

/** True for what a session file is to blame for. */
export function isOfFile(error: unknown): boolean {
  if (BonsaiError.is(error)) return true;
  const { code, path } = error as NodeJS.ErrnoException;
  return path !== undefined || code === "ENOENT" || code === "EISDIR";
}

/** Lets other things have their turn. */
export function turn(restMs = 0): Promise<void> {
  return new Promise((resolve) => {
    if (restMs > 0) setTimeout(resolve, restMs);
    else setImmediate(resolve);
  });
}
