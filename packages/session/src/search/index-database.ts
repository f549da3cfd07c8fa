import { chmodSync, closeSync, openSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeFolder } from "../store/new-file.ts";

/** Raised if tables, tokens or indexed texts change. The name contains it: each version has an index of its own. */
const FORMAT = 5;
const NAME = `search-${FORMAT}.db`;
/** Readers take milliseconds, and a writer's commit too. */
export const BUSY_MS = 1000;

// The index has words and their positions, not the texts: a search reads those from the session. `text` has a row for each
// part of an entry, with a number from `ranking.ts`. `part` finds words by three or more of their characters. Larger batches
// in memory, and fewer merges than by default, halve the time of indexing.
const SCHEMA = `
  CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, inode TEXT NOT NULL, size INTEGER NOT NULL,
    modified_ms REAL NOT NULL, offset INTEGER NOT NULL, line INTEGER NOT NULL, written INTEGER NOT NULL,
    entries INTEGER NOT NULL, fingerprint TEXT NOT NULL
  );
  CREATE TABLE entry (
    id INTEGER PRIMARY KEY, entry_id TEXT NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
    time_ms REAL NOT NULL
  );
  CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE VIRTUAL TABLE text USING fts5 (
    body, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co So'"
  );
  CREATE VIRTUAL TABLE part USING fts5 (text, content='word', content_rowid='id', detail=none, tokenize='trigram');
  INSERT INTO text (text, rank) VALUES ('hashsize', ${1 << 24}), ('automerge', 16);
`;

/** The folder of the index. */
export function indexFolder(home: string): string {
  return join(home, "index");
}

/** The file of the index. Makes its folder, with mode 0700. */
export function indexFile(home: string): string {
  const folder = indexFolder(home);
  makeFolder(folder);
  keepPrivate(folder, 0o700);
  return join(folder, NAME);
}

export function removeDatabase(file: string): void {
  for (const suffix of ["", "-journal"]) rmSync(file + suffix, { force: true });
}

function keepPrivate(path: string, mode: number): void {
  if ((statSync(path).mode & 0o777) !== mode) chmodSync(path, mode);
}

/** SQLite's name for a database without a file. */
export const MEMORY = ":memory:";

/** Opens an index, or makes an empty one, with mode 0600. @throws what SQLite throws, also for a file that is no index */
export function openDatabase(file: string): DatabaseSync {
  if (file !== MEMORY) {
    closeSync(openSync(file, "a", 0o600));
    keepPrivate(file, 0o600);
  }
  const { DatabaseSync: Database } = sqlite();
  const database = new Database(file);
  try {
    // Spilling would need the readers to be gone before the commit. The cache is in KiB: a query reads some of it again and again.
    database.exec(
      `PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA synchronous = NORMAL; PRAGMA cache_spill = OFF; PRAGMA cache_size = -16000`,
    );
    if (isEmpty(database)) {
      database.exec("BEGIN IMMEDIATE");
      // Another process may have been quicker.
      database.exec(isEmpty(database) ? `${SCHEMA} COMMIT` : "ROLLBACK");
    }
    // Fails if a table is missing.
    database.prepare("SELECT 1 FROM entry, file, text, word, part");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
}

/** Loads SQLite at the first use: it costs milliseconds. Hides the warning of Node 22 that it is experimental. */
export function sqlite(): typeof import("node:sqlite") {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!/\bSQLite\b/i.test(String(warning))) emitWarning.call(process, warning, ...rest);
  }) as typeof process.emitWarning;
  try {
    const found = process.getBuiltinModule("node:sqlite");
    if (found === undefined) throw new Error("this build of Node has no SQLite");
    return found;
  } finally {
    process.emitWarning = emitWarning;
  }
}

const [BUSY, LOCKED] = [5, 6];

/** True for an error of the database, in contrast to those of files and of closed connections. */
export function isDatabaseError(error: unknown): boolean {
  return typeof (error as { errcode?: unknown }).errcode === "number";
}

/** True for the error that another process writes. */
export function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode !== undefined && [BUSY, LOCKED].includes(errcode & 0xff);
}
