/** `customType` of the entry that keeps what a list shows of a session; `data` is a SessionDigest. */
export const SESSION_DIGEST_CUSTOM_TYPE = "bonsai.session_digest";

/** A file that was edited or written, with the lines that were added and removed in all. */
export interface ChangedLines {
  path: string;
  added: number;
  removed: number;
}

/** What a session was about and what it changed, as of its latest change of a file. */
export interface SessionDigest {
  /** At most about 100 tokens; empty where there is none. */
  summary: string;
  /** Files that were changed, those that are not listed included. */
  fileCount: number;
  /** Lines, over all files. */
  added: number;
  removed: number;
  /** The latest changes, the last one first. */
  files: ChangedLines[];
}

/** A stored digest, as far as it makes sense; undefined for what is none. */
export function readSessionDigest(data: unknown): SessionDigest | undefined {
  if (!isRecord(data)) return undefined;
  const { summary, fileCount, added, removed, files } = data;
  if (!isCount(fileCount) || !isCount(added) || !isCount(removed)) return undefined;
  return {
    summary: typeof summary === "string" ? summary : "",
    fileCount,
    added,
    removed,
    files: Array.isArray(files) ? files.filter(isChangedLines) : [],
  };
}

function isChangedLines(value: unknown): value is ChangedLines {
  return isRecord(value) && typeof value.path === "string" && isCount(value.added) && isCount(value.removed);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
