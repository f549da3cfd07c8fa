import { type Dirent, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { FileLines } from "./file-lines.ts";
import { sessionFolder, sessionsFolder } from "./session-home.ts";
import { type SessionSummary, type SkipReason, summarizeSession } from "./session-summary.ts";

export interface ListSessionsOptions {
  /** List one folder, whatever its sessions belong to. */
  folder?: string;
  /** List the sessions of one working directory. Without `folder` and `cwd`, all are listed. */
  cwd?: string;
  /** Default: `bonsaiHome()`. */
  home?: string;
}

/** A `.jsonl` file that could not be listed. */
export interface SkippedFile {
  file: string;
  reason: SkipReason;
  /** Where the file system refused. */
  cause?: unknown;
}

export interface SessionList {
  /** Latest activity first. */
  sessions: SessionSummary[];
  skipped: SkippedFile[];
}

/** Lists sessions with name, first words and last activity. No damaged file stops it; a missing folder is an empty list. */
export function listSessions(options: ListSessionsOptions = {}): SessionList {
  const lines = new FileLines();
  const list: SessionList = { sessions: [], skipped: [] };
  for (const file of sessionFiles(options)) {
    const seen = summarized(file, lines);
    if ("reason" in seen) list.skipped.push(seen);
    else if (belongs(seen, options)) list.sessions.push(seen);
  }
  list.sessions.sort((a, b) => b.lastActivityMs - a.lastActivityMs || (a.file < b.file ? -1 : 1));
  return list;
}

/** The `.jsonl` files that the options ask for, in no particular order. */
export function sessionFiles({ folder, cwd, home }: ListSessionsOptions): string[] {
  if (folder !== undefined) return jsonlFiles(resolve(folder));
  if (cwd !== undefined) return jsonlFiles(sessionFolder(home === undefined ? { cwd } : { cwd, home }));
  const all = sessionsFolder(home);
  return entriesOf(all).flatMap((entry) => (entry.isDirectory() ? jsonlFiles(join(all, entry.name)) : []));
}

function jsonlFiles(folder: string): string[] {
  // Only files and links: to open a pipe would wait for its writer.
  return entriesOf(folder)
    .filter((entry) => entry.name.endsWith(".jsonl") && (entry.isFile() || entry.isSymbolicLink()))
    .map((entry) => join(folder, entry.name));
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function summarized(file: string, lines: FileLines): SessionSummary | SkippedFile {
  try {
    const seen = summarizeSession(file, lines);
    return typeof seen === "string" ? { file, reason: seen } : seen;
  } catch (cause) {
    return { file, reason: "unreadable", cause };
  }
}

/** Two working directories can share a folder. */
function belongs(session: SessionSummary, { folder, cwd }: ListSessionsOptions): boolean {
  return (
    folder !== undefined || cwd === undefined || session.cwd === "" || resolve(session.cwd) === resolve(cwd)
  );
}
