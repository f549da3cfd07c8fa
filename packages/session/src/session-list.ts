import {
  appendFileSync,
  type Dirent,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { basename, join, resolve, sep } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { parseBytes } from "./read/entry-head.ts";
import { readHeader } from "./read/session-header.ts";
import { type SessionSummary, type SkipReason, summarizeSession } from "./session-summary.ts";
import { JsonlStore } from "./store/jsonl-store.ts";
import { WINDOW_BYTES } from "./store/line-reader.ts";
import { sessionFolder, sessionsFolder } from "./store/new-file.ts";

export interface ListSessionsOptions {
  /** List the sessions in this folder instead of those in `home`. */
  folder?: string | undefined;
  /** List only the sessions of this working directory. */
  cwd?: string | undefined;
  /** Default: `bonsaiHome()`. */
  home?: string | undefined;
}

/** A `.jsonl` file that could not be listed. */
export interface SkippedFile {
  file: string;
  reason: SkipReason;
  /** The error of the file system, if there was one. */
  cause?: unknown;
}

export interface SessionList {
  /** Latest activity first. */
  sessions: SessionSummary[];
  skipped: SkippedFile[];
}

/**
 * Lists sessions with name, first words and last activity. A restored copy replaces its original. A damaged file does not
 * stop it; a missing folder is an empty list.
 */
export function listSessions(options: ListSessionsOptions = {}): SessionList {
  const window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  const here = sessionsContinuedHere(options);
  const files = latestCopies([...new Set([...sessionFiles(options), ...here])]);
  const read = files.map((file) => summarized(file, window));
  const skipped = read.filter((each) => "reason" in each);
  const listed = read.filter((each) => "id" in each);
  const sessions = listed.filter((each) => belongs(each, options) || here.has(each.file));
  sessions.sort((a, b) => b.lastActivityMs - a.lastActivityMs || (a.file < b.file ? -1 : 1));
  return { sessions, skipped };
}

/** Lists sessions of other working directories that were continued in this one, as lines of JSON. */
const CONTINUED_FILE = "continued-here.txt";

/** Remembers that a session of another working directory was continued here, so that the list here includes it. */
export function rememberContinued(file: string, options: ListSessionsOptions & { cwd: string }): void {
  const { folder = sessionFolder(options) } = options;
  const line = { cwd: resolve(options.cwd), file };
  try {
    if (sessionsContinuedHere(options).has(file)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    appendFileSync(join(folder, CONTINUED_FILE), `${JSON.stringify(line)}\n`, { mode: 0o600 });
  } catch (error) {
    // The session works even if the folder is read-only.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** Returns the existing files of sessions continued here. */
function sessionsContinuedHere({ folder, cwd, home }: ListSessionsOptions): ReadonlySet<string> {
  if (cwd === undefined) return new Set();
  const list = join(folder ?? sessionFolder({ cwd, home }), CONTINUED_FILE);
  const lines = existsSync(list) ? readFileSync(list, "utf8").split("\n") : [];
  const files = lines.flatMap((line) => {
    const { cwd: of, file } = (parseBytes(Buffer.from(line)) ?? {}) as Record<string, unknown>;
    return of === resolve(cwd) && typeof file === "string" && existsSync(file) ? [file] : [];
  });
  return new Set(files);
}

/** The `.jsonl` files of the sessions to list, in no particular order. A restored copy replaces its original. */
export function sessionFiles({ folder, cwd, home }: ListSessionsOptions): string[] {
  if (folder !== undefined || cwd !== undefined)
    return latestCopies(jsonlFiles(resolve(folder ?? sessionFolder({ cwd: cwd!, home }))));
  const all = sessionsFolder(home);
  const folders = entriesOf(all).filter((entry) => entry.isDirectory());
  return latestCopies(folders.flatMap(({ name }) => jsonlFiles(join(all, name))));
}

function jsonlFiles(folder: string): string[] {
  // Only files and links: opening a pipe would wait for its writer.
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

function summarized(file: string, window: Buffer): SessionSummary | SkippedFile {
  try {
    const seen = summarizeSession(file, window);
    return typeof seen === "string" ? { file, reason: seen } : seen;
  } catch (cause) {
    return { file, reason: "unreadable", cause };
  }
}

/** Two working directories can share a folder. */
export function belongs(session: Pick<SessionSummary, "cwd">, { cwd }: ListSessionsOptions): boolean {
  return cwd === undefined || session.cwd === "" || resolve(session.cwd) === resolve(cwd);
}

/**
 * The absolute path of the session that a user names.
 * @param options.session a path, a session id, or the beginning of one
 * @param options.cwd sessions of this working directory come first
 * @throws BonsaiError `session_not_found`, `session_ambiguous`
 */
export function findSession({ session, cwd, ...place }: ListSessionsOptions & { session: string }): string {
  if (session.endsWith(".jsonl") || session.includes("/") || session.includes(sep)) {
    if (existsSync(session)) return resolve(session);
    throw notFound(session);
  }
  const near =
    cwd === undefined || place.folder !== undefined ? [] : matches(session, sessionFiles({ ...place, cwd }));
  const named = near.length > 0 ? near : matches(session, sessionFiles(place));
  // An original and its damaged copy have the same id.
  const isOneSession = new Set(named.map(originalOf)).size === 1;
  const readable = isOneSession ? named.filter((file) => headerId(file) !== undefined) : [];
  const found = readable.length > 0 ? readable : named;
  if (found.length === 1) return found[0]!;
  if (found.length === 0 && existsSync(session)) return resolve(session);
  throw found.length === 0 ? notFound(session) : ambiguous(session, found);
}

/** Files of sessions with this id, or else of those whose id begins with it. */
function matches(query: string, files: readonly string[]): string[] {
  if (query === "") return [];
  const idOf = (file: string) => idFromName(file) ?? headerId(file) ?? "";
  const known = files.map((file) => ({ file, id: idOf(file) })).filter(({ id }) => id.startsWith(query));
  const exact = known.filter(({ id }) => id === query);
  return (exact.length > 0 ? exact : known).map(({ file }) => file);
}

function idFromName(file: string): string | undefined {
  return /^\d{4}-\d\d-\d\dT[\d-]+Z_(.+?)(?:\.restored\d*)?\.jsonl$/.exec(basename(file))?.[1];
}

/** Leaves out files that a restored copy replaces, and copies older than another copy of the same session. */
function latestCopies(files: readonly string[]): string[] {
  const groups = Map.groupBy(files, originalOf);
  return [...groups].flatMap(([original, group]) => (group.length === 1 ? group : latestOf(original, group)));
}

/** The latest file of each session among copies and their original. A readable copy replaces an unreadable original. */
function latestOf(original: string, group: readonly string[]): string[] {
  const copies = group.filter((file) => file !== original).sort((a, b) => writtenMs(a) - writtenMs(b));
  const isReplaced = headerId(original) === undefined && copies.some((file) => headerId(file) !== undefined);
  const files = isReplaced || !group.includes(original) ? copies : [original, ...copies];
  return [...new Map(files.map((file) => [headerId(file) ?? file, file])).values()];
}

/** The file whose restored copy this is; the file itself if it is no copy. */
function originalOf(file: string): string {
  return file.replace(/\.restored\d*\.jsonl$/, ".jsonl");
}

function writtenMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The id of a renamed file; undefined if it cannot be read. */
function headerId(file: string): string | undefined {
  let store: JsonlStore | undefined;
  try {
    store = JsonlStore.open(file);
    const { header, damage, invalidFields } = readHeader(store);
    return damage === undefined && !invalidFields.includes("id") ? header.id : undefined;
  } catch (error) {
    if (BonsaiError.is(error) || (error as NodeJS.ErrnoException).code !== undefined) return undefined;
    throw error;
  } finally {
    store?.close();
  }
}

function notFound(session: string): BonsaiError {
  return new BonsaiError({
    code: "session_not_found",
    message: `No session file or id matches "${session}".`,
    hint: "Run `bonsai session list` to list sessions, or give the path of a file.",
  });
}

const LISTED_MATCHES = 5;

function ambiguous(session: string, files: readonly string[]): BonsaiError {
  const more = files.length > LISTED_MATCHES ? `, and ${files.length - LISTED_MATCHES} more` : "";
  return new BonsaiError({
    code: "session_ambiguous",
    message: `"${session}" matches ${files.length} sessions: ${files.slice(0, LISTED_MATCHES).join(", ")}${more}.`,
    hint: "Give more characters of the id, or the path of the file.",
  });
}
