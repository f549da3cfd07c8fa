import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BUSY_MS, indexFile, isBusy, MEMORY, openDatabase, removeDatabase } from "./index-database.ts";
import type { EntryPlace, Field, FileMark, FilePosition, FoundEntry } from "./source.ts";
import { searchText, wordsIn } from "./words.ts";

// A number describes a part of an entry: file, position in the file, field and length. A search ranks lists of such numbers.

/** Maximum number of parts of an entry, and of entries in a file. */
const PARTS = 64;
const MAX_ENTRIES = 2 ** 23;
const MAX_LENGTH_CLASS = 15;

/** @param number position of the entry in its file, from 1, so that entries of two files are never neighbours */
export function entryNumber(file: number, number: number): number {
  return file * MAX_ENTRIES + number;
}

export const entryOf = (part: number) => Math.floor(part / PARTS);
export const fileOf = (entry: number) => Math.floor(entry / MAX_ENTRIES);
export const numberInFile = (entry: number) => entry % MAX_ENTRIES;

/** The field of a part, and the binary logarithm of its number of words. */
export const fieldAndLength = (part: number) => part % PARTS;

function partNumber(entry: number, field: Field, wordCount: number): number {
  return entry * PARTS + field * 16 + Math.min(MAX_LENGTH_CLASS, Math.ceil(Math.log2(1 + wordCount)));
}

const FILE_COLUMNS =
  "id, path, inode, size, modified_ms AS modifiedMs, offset, line, written, entries, fingerprint";

/** Maximum number of parts read for a term: the newest. */
export const MAX_PARTS = 4000;
/** Maximum number of words with a part that count. */
const MAX_WORDS_WITHIN = 30;
/** Words that can be found by a part of them. */
const MIN_WORD = 4;
const MAX_WORD = 64;
/** Maximum number of stored words in memory: most words repeat. */
const MAX_KNOWN_WORDS = 200_000;
/** A shorter part needs a scan of all words. */
const MIN_LOOKED_UP = 3;

/** The index's facts about a file. */
export interface IndexedFile extends FilePosition, FileMark {
  id: number;
  path: string;
  /** Fingerprint of the bytes read so far. */
  fingerprint: string;
}

/** The files of a search. */
export interface FileRange {
  first: number;
  last: number;
  /** The ids of the files between the two, as JSON; undefined for all. */
  among: string | undefined;
}

/**
 * The open full-text index: a cache that anybody may delete at any time. Owner of its file and tables. It has a rollback
 * journal and no shared memory: a file that is cut off while it is open is an error then, not the end of the process.
 */
export class SearchIndex {
  readonly #file: string;
  readonly #inode: number | undefined;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #knownWords = new Set<string>();
  /** One change at a time: a connection has one transaction. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(file: string) {
    this.#file = file;
    this.#database = openDatabase(file);
    this.#inode = inodeOf(file);
  }

  /**
   * Opens the index, or makes an empty one: mode 0600, its folder 0700. A file that is no sound index is deleted and made
   * again.
   * @throws what the file system and SQLite throw; see `isBusy`
   */
  static open(home: string): SearchIndex {
    const file = indexFile(home);
    try {
      return new SearchIndex(file);
    } catch (error) {
      if (isBusy(error)) throw error;
      removeDatabase(file);
      return new SearchIndex(file);
    }
  }

  /** Makes an empty index without a file. */
  static inMemory(): SearchIndex {
    return new SearchIndex(MEMORY);
  }

  /** False if the file was deleted or replaced: later writes are lost. */
  isCurrent(): boolean {
    return inodeOf(this.#file) === this.#inode;
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Closes the database and deletes its file. The next `open` makes an empty one. */
  discard(): void {
    const isCurrent = this.isCurrent();
    this.close();
    if (isCurrent) removeDatabase(this.#file);
  }

  files(): IndexedFile[] {
    return this.#all<IndexedFile>(`SELECT ${FILE_COLUMNS} FROM file`);
  }

  file(path: string): IndexedFile | undefined {
    return this.#all<IndexedFile>(`SELECT ${FILE_COLUMNS} FROM file WHERE path = ?`, path)[0];
  }

  fileCount(): number {
    return this.#all<{ count: number }>("SELECT count(*) AS count FROM file")[0]!.count;
  }

  /** Runs several queries in one transaction, because each transaction locks the file. */
  reading<Value>(work: () => Value): Value {
    // A waiting change has an open transaction on the same connection.
    if (this.#database.isTransaction) return work();
    this.#database.exec("BEGIN");
    try {
      return work();
    } finally {
      this.#database.exec("COMMIT");
    }
  }

  /** The newest parts that match an FTS5 expression. Numbers of one entry follow each other. */
  parts(expression: string, { first, last, among }: FileRange): number[] {
    const filter =
      among === undefined ? "" : `AND rowid / ${PARTS * MAX_ENTRIES} IN (SELECT value FROM json_each(?))`;
    // FTS5 uses bounds of the row only if they are integers. SQLite returns one text of thousands of numbers much faster
    // than thousands of rows.
    const [row] = this.#all<{ ids: string }>(
      `SELECT json_group_array(id) AS ids FROM (SELECT rowid AS id FROM text
       WHERE text MATCH ? AND rowid BETWEEN ? AND ? ${filter} ORDER BY rowid DESC LIMIT ${MAX_PARTS})`,
      ...[expression, ...partRange(first, last).map(BigInt), ...(among === undefined ? [] : [among])],
    );
    return JSON.parse(row!.ids);
  }

  /** Some words of the index that contain a text. */
  wordsWith(text: string): string[] {
    if (text.length < MIN_LOOKED_UP) return [];
    const rows = this.#all<{ text: string }>(
      `SELECT text FROM part WHERE text LIKE ? LIMIT ${MAX_WORDS_WITHIN}`,
      `%${text}%`,
    );
    return rows.map((row) => row.text);
  }

  entry(id: number): EntryPlace | undefined {
    const columns = "entry_id AS entryId, offset, length AS lengthBytes, time_ms AS timeMs";
    return this.#all<EntryPlace>(`SELECT ${columns} FROM entry WHERE id = ?`, id)[0];
  }

  /** Runs a change as a whole or not at all, after the running one. @throws what SQLite throws; see `isBusy` */
  async change(work: () => Promise<void>): Promise<void> {
    const next = this.#changing.then(() => this.#changeAlone(work));
    this.#changing = next.catch(() => {});
    return await next;
  }

  async #changeAlone(work: () => Promise<void>): Promise<void> {
    try {
      this.#begin();
      await work();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#knownWords.clear();
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Throws at once if another process writes: a wait would stop this thread. */
  #begin(): void {
    this.#database.exec("PRAGMA busy_timeout = 0");
    try {
      this.#database.exec("BEGIN IMMEDIATE");
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  addEntry(file: number, { number, entryId, offset, lengthBytes, timeMs, fields }: FoundEntry): void {
    if (number >= MAX_ENTRIES) return;
    const id = entryNumber(file, number);
    this.#run(
      "INSERT INTO entry (id, entry_id, offset, length, time_ms) VALUES (?, ?, ?, ?, ?)",
      ...[BigInt(id), entryId, offset, lengthBytes, timeMs],
    );
    for (const [field, text] of fields) {
      const body = searchText(text);
      const words = wordsIn(body);
      const part = partNumber(id, field, words.length);
      this.#run("INSERT INTO text (rowid, body) VALUES (?, ?)", BigInt(part), body);
      this.#addWords(words);
    }
  }

  #addWords(words: readonly string[]): void {
    for (const word of words) {
      if (word.length < MIN_WORD || word.length > MAX_WORD || this.#knownWords.has(word)) continue;
      if (this.#knownWords.size >= MAX_KNOWN_WORDS) this.#knownWords.clear();
      this.#knownWords.add(word);
      const { changes, lastInsertRowid } = this.#prepared("INSERT OR IGNORE INTO word (text) VALUES (?)").run(
        word,
      );
      if (changes !== 0) this.#run("INSERT INTO part (rowid, text) VALUES (?, ?)", lastInsertRowid, word);
    }
  }

  /** Notes how far a file is indexed. */
  setFile({
    path,
    inode,
    size,
    modifiedMs,
    offset,
    line,
    written,
    entries,
    fingerprint,
  }: Omit<IndexedFile, "id">): IndexedFile {
    this.#run(
      `INSERT INTO file (path, inode, size, modified_ms, offset, line, written, entries, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, size = excluded.size,
       modified_ms = excluded.modified_ms, offset = excluded.offset, line = excluded.line, written = excluded.written,
       entries = excluded.entries, fingerprint = excluded.fingerprint`,
      ...[path, inode, size, modifiedMs, offset, line, written, entries, fingerprint],
    );
    return this.file(path)!;
  }

  removeFile(id: number): void {
    const [from, to] = partRange(id, id);
    this.#run("DELETE FROM text WHERE rowid BETWEEN ? AND ?", BigInt(from), BigInt(to));
    this.#run("DELETE FROM entry WHERE id BETWEEN ? AND ?", entryNumber(id, 0), entryNumber(id + 1, 0));
    this.#run("DELETE FROM file WHERE id = ?", id);
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #all<Row>(sql: string, ...values: (string | number | bigint)[]): Row[] {
    return this.#prepared(sql).all(...values) as unknown[] as Row[];
  }

  #run(sql: string, ...values: (string | number | bigint)[]): void {
    this.#prepared(sql).run(...values);
  }
}

/** Bounds for the numbers of the parts of these files. */
function partRange(firstFile: number, lastFile: number): [from: number, to: number] {
  return [entryNumber(firstFile, 0) * PARTS, entryNumber(lastFile + 1, 0) * PARTS];
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}
