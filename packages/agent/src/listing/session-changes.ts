import { FileOperationCounter } from "@bonsai-agent/compaction/host";
import { type ChangedLines, customTypes, readSessionBlurb, type Session } from "@bonsai-agent/session";

type StoredBlurb = NonNullable<ReturnType<typeof readSessionBlurb>>;

/** Files that a blurb lists; the others are counted. */
const LISTED_FILES = 40;
/** A longer path is counted, not listed. */
const MAX_PATH_CHARS = 500;

/** The changes of a session over all branches. Reads from the latest stored blurb on. */
export class SessionChanges {
  readonly #session: Session;
  readonly #files = new FileOperationCounter();
  /** Changes that an earlier blurb counted without listing their files. */
  #unlisted = { fileCount: 0, added: 0, removed: 0 };
  /** Number of the next record; undefined before the first reading. */
  #next: number | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Reads the next records. Returns true at the end. */
  readOn(maxRecords: number): boolean {
    const index = this.#session.index();
    let next = this.#next ?? this.#begin(index);
    const end = Math.min(next + maxRecords, index.settledCount);
    for (; next < end; next += 1) {
      const entry = this.#session.entryAt(next);
      if (entry?.type === "message") this.#files.add(entry.message);
    }
    this.#next = next;
    return next >= index.settledCount;
  }

  /** Starts with the latest blurb. Returns the number of the record after it. */
  #begin(index: ReturnType<Session["index"]>): number {
    for (const number of index.numbersOf("custom").reverse()) {
      const entry = this.#session.entryAt(number);
      if (entry?.type !== "custom" || entry.customType !== customTypes.sessionBlurb) continue;
      const blurb = readSessionBlurb(entry.data);
      if (blurb === undefined) continue;
      this.#takeOver(blurb);
      return number + 1;
    }
    return 0;
  }

  #takeOver({ files, fileCount, added, removed }: StoredBlurb): void {
    for (const file of files.toReversed()) this.#files.addLines(file);
    const listed = lineSums(files);
    this.#unlisted = {
      fileCount: Math.max(0, fileCount - files.length),
      added: Math.max(0, added - listed.added),
      removed: Math.max(0, removed - listed.removed),
    };
  }

  totals(): Omit<StoredBlurb, "summary"> {
    const files = this.#files.changedLines(this.#session.cwd);
    const { added, removed } = lineSums(files);
    const listed = files.filter(({ path }) => path.length <= MAX_PATH_CHARS).slice(-LISTED_FILES);
    return {
      fileCount: files.length + this.#unlisted.fileCount,
      added: added + this.#unlisted.added,
      removed: removed + this.#unlisted.removed,
      files: listed.reverse(),
    };
  }
}

function lineSums(files: readonly ChangedLines[]): Omit<ChangedLines, "path"> {
  const sum = (of: "added" | "removed") => files.reduce((all, file) => all + file[of], 0);
  return { added: sum("added"), removed: sum("removed") };
}
