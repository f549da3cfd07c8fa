import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BUSY_MS, indexFile, isBusy, openDatabase, removeDatabase } from "./index-database.ts";
import {
  entryNumber,
  entryOf,
  type Field,
  fileOf,
  MAX_ENTRIES,
  type Postings,
  partNumber,
  partRange,
} from "./ranking.ts";
import type { FileMark, FilePosition } from "./source.ts";
import { isLoneCharacter, searchText, wordsIn } from "./words.ts";

const FILE_COLUMNS =
  "id, path, inode, size, modified_ms AS modifiedMs, offset, line, written, entries, fingerprint";

/** Maximum number of parts read for a term: the newest. */
const MAX_PARTS = 4000;
/** Maximum number of words with a part that count. */
const MAX_WORDS_WITHIN = 30;
/** Words that can be found by a part of them. */
const MIN_WORD = 4;
const MAX_WORD = 64;
/** Maximum number of stored words in memory: most words repeat. */
const MAX_KNOWN_WORDS = 200_000;
/** A shorter part needs a scan of all words. */
const MIN_LOOKED_UP = 3;

/** The index's facts about a session file. */
export interface IndexedFile extends FilePosition, FileMark {
  id: number;
  path: string;
}

/** The place of an entry in its file. */
export interface EntryPlace {
  entryId: string;
  offset: number;
  lengthBytes: number;
  timeMs: number;
}

/**
 * The open full-text index: a cache that anybody may delete at any time. Owner of its file and tables. It has a rollback
 * journal and no shared memory: a file that is cut off while it is open is an error then, not the end of the process.
 */
export class SearchIndex {
  readonly #file: string;
  readonly #inode: number;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #knownWords = new Set<string>();
  /** One change at a time: a connection has one transaction. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(file: string) {
    this.#file = file;
    this.#database = openDatabase(file);
    this.#inode = statSync(file).ino;
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

  /** False if the file was deleted or replaced: later writes are lost. */
  isCurrent(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#inode;
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

  /** The indexed files among some files, or all. */
  files(paths: readonly string[] = []): IndexedFile[] {
    if (paths.length === 1) return [this.file(paths[0]!) ?? []].flat();
    return this.#all<IndexedFile>(`SELECT ${FILE_COLUMNS} FROM file ORDER BY id`);
  }

  file(path: string): IndexedFile | undefined {
    return this.#all<IndexedFile>(`SELECT ${FILE_COLUMNS} FROM file WHERE path = ?`, path)[0];
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

  /** The postings of the entries in some of the files. @param among all indexed files between the searched ones */
  postings(among: readonly IndexedFile[], isSearched: (file: IndexedFile) => boolean): Postings {
    const runs: { first: number; last: number }[] = [];
    const searched: IndexedFile[] = [];
    let isRun = false;
    for (const file of among) {
      const run = runs.at(-1);
      const isIn = isSearched(file);
      if (isIn) searched.push(file);
      if (isIn && isRun) run!.last = file.id;
      else if (isIn) runs.push({ first: file.id, last: file.id });
      isRun = isIn;
    }
    const newestFirst = runs.reverse();
    const entryCounts = new Map(searched.map(({ id, entries }) => [id, entries]));
    const entryCount = searched.reduce((sum, { entries }) => sum + entries, 0);
    const find = (expression: string) => this.#parts(expression, newestFirst);
    return {
      entryCounts,
      parts: (words) => find(isLoneCharacter(words) ? `"${words}"*` : `"${words}"`),
      partsWithin: (text) => {
        const words = this.#wordsWith(text);
        return words.length === 0 ? [] : find(words.map((word) => `"${word}"`).join(" OR "));
      },
      countedAmong: (parts) => {
        if (parts.length < MAX_PARTS) return entryCount;
        const oldest = fileOf(entryOf(parts.at(-1)!));
        return searched.reduce((sum, { id, entries }) => sum + (id >= oldest ? entries : 0), 0);
      },
    };
  }

  #parts(expression: string, runs: readonly { first: number; last: number }[]): number[] {
    const found: number[] = [];
    for (const { first, last } of runs) {
      // FTS5 uses bounds of the row only if they are integers.
      const range = partRange(first, last).map(BigInt);
      // SQLite returns one text of thousands of numbers much faster than thousands of rows.
      const [row] = this.#all<{ ids: string }>(
        `SELECT json_group_array(id) AS ids FROM (SELECT rowid AS id FROM text
         WHERE text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?)`,
        ...[expression, ...range, MAX_PARTS - found.length],
      );
      for (const id of JSON.parse(row!.ids) as number[]) found.push(id);
      if (found.length >= MAX_PARTS) break;
    }
    return found;
  }

  #wordsWith(text: string): string[] {
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

  /** @param place number of the entry in its file, from 1 */
  addEntry(
    file: number,
    place: number,
    { texts, ...entry }: EntryPlace & { texts: ReadonlyMap<Field, string> },
  ): void {
    if (place >= MAX_ENTRIES) return;
    const id = entryNumber(file, place);
    this.#run(
      "INSERT INTO entry (id, entry_id, offset, length, time_ms) VALUES (?, ?, ?, ?, ?)",
      ...[BigInt(id), entry.entryId, entry.offset, entry.lengthBytes, entry.timeMs],
    );
    for (const [field, text] of texts) {
      const body = searchText(text);
      const words = wordsIn(body);
      this.#run(
        "INSERT INTO text (rowid, body) VALUES (?, ?)",
        BigInt(partNumber(id, field, words.length)),
        body,
      );
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

  /** Notes how far a file is indexed. @returns its id */
  setFile(file: Omit<IndexedFile, "id">): number {
    const { path, inode, size, modifiedMs, offset, line, written, entries, fingerprint } = file;
    this.#run(
      `INSERT INTO file (path, inode, size, modified_ms, offset, line, written, entries, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, size = excluded.size,
       modified_ms = excluded.modified_ms, offset = excluded.offset, line = excluded.line, written = excluded.written,
       entries = excluded.entries, fingerprint = excluded.fingerprint`,
      ...[path, inode, size, modifiedMs, offset, line, written, entries, fingerprint],
    );
    return this.file(path)!.id;
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
