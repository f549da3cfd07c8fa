import { chmodSync, closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeFolder, randomHex } from "../store/new-file.ts";

/** Raised whenever tables, tokens or what is indexed change. In the name too: versions in use at once each have an index. */
const FORMAT = 2;
/** "BNSX" */
const APPLICATION = 0x424e5358;
const NAME = new RegExp(`^search-${FORMAT}-[0-9a-f]{16}\\.db$`);
const OF_ANY_FORMAT = /^search-.*\.db$/;
/** Readers take milliseconds, and a writer's commit too. */
export const BUSY_MS = 1000;

// Only which sequences of three characters an entry has is kept, not where (`detail=none`): an eighth of the size of a full
// index. The text itself is read from the session, which is the truth. More of it is gathered in memory, and merged later,
// than by default: that halves the time of indexing.
const SCHEMA = `
  CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, inode TEXT NOT NULL, size INTEGER NOT NULL,
    modified_ms REAL NOT NULL, offset INTEGER NOT NULL, line INTEGER NOT NULL, written INTEGER NOT NULL,
    fingerprint TEXT NOT NULL
  );
  CREATE TABLE entry (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, entry_id TEXT NOT NULL, offset INTEGER NOT NULL,
    length INTEGER NOT NULL, characters INTEGER NOT NULL, time_ms REAL NOT NULL, is_long INTEGER NOT NULL
  );
  CREATE INDEX entry_file ON entry (file);
  CREATE INDEX entry_long ON entry (id) WHERE is_long;
  CREATE VIRTUAL TABLE text USING fts5 (
    body, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1'
  );
  CREATE VIRTUAL TABLE sequence USING fts5vocab (text, row);
  INSERT INTO text (text, rank) VALUES ('hashsize', ${1 << 24}), ('automerge', 16);
  PRAGMA application_id = ${APPLICATION};
  PRAGMA user_version = ${FORMAT};
`;

/** The folder of the index. */
export function indexFolder(home: string): string {
  return join(home, "index");
}

/**
 * The open database of an index: a cache that anybody may delete at any time. Owner of its file. Each database made has a
 * name of its own, so that no process that still has an old one open can do harm to a new one; of several the first by name
 * is in use. It has a rollback journal and no shared memory: a file that is cut off while it is open is an error then, not
 * the end of the process.
 */
export class IndexDatabase {
  readonly #folder: string;
  readonly #file: string;
  readonly #inode: number;
  readonly database: DatabaseSync;

  private constructor(folder: string, file: string, database: DatabaseSync) {
    this.#folder = folder;
    this.#file = file;
    this.#inode = statSync(file).ino;
    this.database = database;
  }

  /**
   * Opens the index, or makes an empty one: mode 0600, its folder 0700.
   * @throws what the file system and SQLite throw; see `isBusy`
   */
  static open(home: string): IndexDatabase {
    const folder = indexFolder(home);
    // What one process makes, another that made one too can take away before it is opened: then that one is there.
    for (let attempt = 1; ; attempt += 1) {
      try {
        const found = IndexDatabase.#openIn(folder);
        if (found !== undefined) return found;
      } catch (error) {
        // The folder can be deleted meanwhile.
        if (!isGone(error) || attempt === MOST_ATTEMPTS) throw error;
      }
      if (attempt === MOST_ATTEMPTS) throw new Error(`cannot open the index in ${folder}`);
    }
  }

  static #openIn(folder: string): IndexDatabase | undefined {
    makeFolder(folder);
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
    keepPrivate(folder, 0o700);
    const found = IndexDatabase.#firstSound(folder);
    if (found !== undefined) return found;
    create(folder);
    return IndexDatabase.#firstSound(folder);
  }

  /** False where the file was deleted or replaced: what is written now is lost. */
  isCurrent(): boolean {
    if (databaseNames(this.#folder)[0] !== this.#file.slice(this.#folder.length + 1)) return false;
    return statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#inode;
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  /** Closes and deletes it: the next one is made anew. */
  discard(): void {
    try {
      this.close();
    } finally {
      if (this.isCurrent()) removeDatabase(this.#file);
    }
  }

  /** Those after the first come of two processes that each made one. */
  static #firstSound(folder: string): IndexDatabase | undefined {
    let sound: IndexDatabase | undefined;
    for (const name of databaseNames(folder)) {
      const file = join(folder, name);
      const opened = sound === undefined ? IndexDatabase.#openFile(folder, file) : undefined;
      if (opened === undefined) removeDatabase(file);
      sound ??= opened;
    }
    return sound;
  }

  /** Undefined for a file that is damaged or of another version. */
  static #openFile(folder: string, file: string): IndexDatabase | undefined {
    let database: DatabaseSync | undefined;
    try {
      keepPrivate(file, 0o600);
      database = openDatabase(file);
      if (isOurs(database)) return new IndexDatabase(folder, file, database);
      database.close();
    } catch (error) {
      if (database?.isOpen) database.close();
      if (!isDamage(error) && !isGone(error)) throw error;
    }
    return undefined;
  }
}

function databaseNames(folder: string): string[] {
  try {
    return fileNames(folder)
      .filter((name) => NAME.test(name))
      .sort();
  } catch {
    // A folder that is gone has none.
    return [];
  }
}

/** Folders are not ours, whatever their name. */
function fileNames(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

/** Under another name until it is complete. A process killed meanwhile leaves that behind; the next one takes it away. */
function create(folder: string): void {
  for (const name of fileNames(folder)) {
    if (name.endsWith(".tmp")) removeUnused(join(folder, name), ABANDONED_MS);
    else if (OF_ANY_FORMAT.test(name)) removeUnused(join(folder, name), OUTDATED_MS);
  }
  const file = join(folder, `search-${FORMAT}-${randomHex(8)}.db`);
  const temporary = `${file}.tmp`;
  closeSync(openSync(temporary, "wx", 0o600));
  try {
    const database = openDatabase(temporary);
    try {
      database.exec(`BEGIN; ${SCHEMA} COMMIT`);
    } finally {
      database.close();
    }
    renameSync(temporary, file);
  } finally {
    removeDatabase(temporary);
  }
}

/** More than processes that begin at once. */
const MOST_ATTEMPTS = 20;
const ABANDONED_MS = 60_000;
/** Another version that is in use writes to its index more often. */
const OUTDATED_MS = 30 * 24 * 3_600_000;

function removeUnused(file: string, unusedMs: number): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats !== undefined && Date.now() - stats.mtimeMs > unusedMs) removeDatabase(file);
}

function removeDatabase(file: string): void {
  for (const suffix of ["", "-journal"]) rmSync(file + suffix, { force: true });
}

function keepPrivate(path: string, mode: number): void {
  if ((statSync(path).mode & 0o777) !== mode) chmodSync(path, mode);
}

function openDatabase(file: string): DatabaseSync {
  const { DatabaseSync: Database } = sqlite();
  const database = new Database(file);
  try {
    // Spilling would need the readers to be gone before the commit. The cache is in KiB: a query reads some of it again and again.
    database.exec(
      `PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA synchronous = NORMAL; PRAGMA cache_spill = OFF; PRAGMA cache_size = -16000`,
    );
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function isOurs(database: DatabaseSync): boolean {
  const { user_version: format } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  const { application_id: application } = database.prepare("PRAGMA application_id").get() as {
    application_id: number;
  };
  if (format !== FORMAT || application !== APPLICATION) return false;
  // Fails where a table is missing.
  database.prepare("SELECT 1 FROM entry, file, text, sequence");
  return true;
}

/**
 * Loaded at the first use, for it costs every start some milliseconds; and without the warning that Node 22 prints, that it
 * is experimental there.
 */
function sqlite(): typeof import("node:sqlite") {
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

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

const [ERROR, BUSY, LOCKED, CORRUPT, NOT_A_DATABASE] = [1, 5, 6, 11, 26];

/** True for an error that says that the file is no sound index. */
export function isDamage(error: unknown): boolean {
  return [ERROR, CORRUPT, NOT_A_DATABASE].includes(primaryCode(error));
}

/** What SQLite did not notice. */
export function damaged(what: string): Error {
  return Object.assign(new Error(`the index is damaged: ${what}`), { errcode: CORRUPT });
}

/** True for an error that says that another process writes. */
export function isBusy(error: unknown): boolean {
  return [BUSY, LOCKED].includes(primaryCode(error));
}

function primaryCode(error: unknown): number {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === "number" ? errcode & 0xff : 0;
}
