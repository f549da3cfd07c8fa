import {
  type EntryIndex,
  readSessionDigest,
  SESSION_DIGEST_CUSTOM_TYPE,
  type Session,
  type SessionDigest,
} from "@bonsai-agent/session";
import { ChangedFiles } from "./changed-files.ts";

/** Files that a digest lists; the others are counted. */
const LISTED_FILES = 40;
/** A longer path is counted, not listed. */
const MOST_PATH_CHARACTERS = 500;

/**
 * Sums up the changes of a session over all its branches. Begins with what the latest stored digest says, so that a
 * session is read only from there on; a file that this digest did not list and that changes again counts twice.
 */
export class SessionChanges {
  readonly #session: Session;
  readonly #files: ChangedFiles;
  /** What an earlier digest counted and did not list. */
  #unlisted = { fileCount: 0, added: 0, removed: 0 };
  /** Number of the record to go on with; undefined before the first reading. */
  #next: number | undefined;

  constructor(session: Session) {
    this.#session = session;
    this.#files = new ChangedFiles(session.cwd);
  }

  /** Reads on, so many records at most; true when there is no more to read. */
  readOn(mostRecords: number): boolean {
    const index = this.#session.index();
    let next = this.#next ?? this.#begin(index);
    const end = Math.min(next + mostRecords, index.settledCount);
    for (; next < end; next += 1) {
      const entry = this.#session.entryAt(next);
      if (entry?.type === "message") this.#files.read(entry.message);
    }
    this.#next = next;
    return next >= index.settledCount;
  }

  /** Takes over the latest digest; gives back the record after it. */
  #begin(index: EntryIndex): number {
    for (const number of index.numbersOf("custom").reverse()) {
      const entry = this.#session.entryAt(number);
      if (entry?.type !== "custom" || entry.customType !== SESSION_DIGEST_CUSTOM_TYPE) continue;
      const digest = readSessionDigest(entry.data);
      if (digest === undefined) continue;
      this.#takeOver(digest);
      return number + 1;
    }
    return 0;
  }

  #takeOver({ files, fileCount, added, removed }: SessionDigest): void {
    for (const file of files.toReversed()) this.#files.add(file);
    const listed = sums(files);
    this.#unlisted = {
      fileCount: Math.max(0, fileCount - files.length),
      added: Math.max(0, added - listed.added),
      removed: Math.max(0, removed - listed.removed),
    };
  }

  /** The changes in what was read. */
  totals(): Omit<SessionDigest, "summary"> {
    const files = this.#files.list();
    const { added, removed } = sums(files);
    const listed = files.filter(({ path }) => path.length <= MOST_PATH_CHARACTERS).slice(-LISTED_FILES);
    return {
      fileCount: files.length + this.#unlisted.fileCount,
      added: added + this.#unlisted.added,
      removed: removed + this.#unlisted.removed,
      files: listed.reverse(),
    };
  }
}

function sums(files: readonly { added: number; removed: number }[]): { added: number; removed: number } {
  return files.reduce(
    (all, { added, removed }) => ({ added: all.added + added, removed: all.removed + removed }),
    { added: 0, removed: 0 },
  );
}
