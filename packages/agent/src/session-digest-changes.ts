import type { Message } from "@bonsai-agent/messages";
import {
  type EntryIndex,
  readSessionDigest,
  SESSION_DIGEST_CUSTOM_TYPE,
  type Session,
  type SessionDigest,
} from "@bonsai-agent/session";
import { ChangedFiles, changedFiles } from "./changed-files.ts";

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
  readonly #files = new ChangedFiles();
  /** What an earlier digest counted and did not list. */
  #unlisted = { fileCount: 0, added: 0, removed: 0 };
  /** Number of the record to go on with; undefined before the first reading. */
  #next: number | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /** The changes until now. */
  read(): Omit<SessionDigest, "summary"> {
    const index = this.#session.index();
    this.#next ??= this.#begin(index);
    const messages: Message[] = [];
    for (let number = this.#next; number < index.settledCount; number += 1) {
      const entry = this.#session.entryAt(number);
      if (entry?.type === "message") messages.push(entry.message);
    }
    this.#next = Math.max(this.#next, index.settledCount);
    for (const change of changedFiles(messages, this.#session.cwd)) this.#files.add(change);
    return this.#totals();
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

  #totals(): Omit<SessionDigest, "summary"> {
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
