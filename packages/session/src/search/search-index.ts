import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Rankable } from "./hits.ts";
import { BUSY_MS, indexFile, isBusy, openDatabase, removeDatabase } from "./index-database.ts";
import { caseFolded, type QueryMatcher } from "./query.ts";
import type { FileMark, FilePosition } from "./source.ts";

const FILE_COLUMNS = "id, path, inode, size, modified_ms AS modifiedMs, offset, line, written, fingerprint";
const CANDIDATE_COLUMNS = `entry.id, file.path AS file, entry_id AS entryId, entry.offset, length AS lengthBytes,
  characters, time_ms AS timeMs`;

/** Written after each text of an entry, so that each of its characters begins a sequence of three. */
const TEXT_END = "\u0001\u0001";
const SEQUENCE_CHARACTERS = 3;
/** A term of one or two characters that begins more sequences than this is looked for in the files. */
const MAX_SEQUENCES = 400;
/** Maximum number of terms looked up for a query that needs them all. */
const MAX_TERMS_OF_ALL = 16;
/** Maximum number of sequences looked up for a term. The entry itself tells whether it has the whole term. */
const MAX_LOOKED_UP = 24;

/** The index's facts about a session file. */
export interface IndexedFile extends FilePosition, FileMark {
  id: number;
  path: string;
}

/** An entry that may match. Its line decides. */
export interface Candidate extends Rankable {
  entryId: string;
  lengthBytes: number;
}

type CandidateRow = Omit<Candidate, "counts"> & { id: number };

/** Limits the candidates of each term to the newest of some files. */
export interface CandidateRange {
  files: ReadonlyMap<string, unknown>;
  maxPerTerm: number;
  maxPerFile: number;
}

/** An entry to be indexed. */
interface IndexedEntry {
  entryId: string;
  offset: number;
  lengthBytes: number;
  timeMs: number;
  characters: number;
  /** Undefined for an entry that is too long: it is a candidate for every query. */
  texts: readonly string[] | undefined;
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

  files(): IndexedFile[] {
    return this.#all<IndexedFile>(`SELECT ${FILE_COLUMNS} FROM file`);
  }

  file(path: string): IndexedFile | undefined {
    return this.#all<IndexedFile>(`SELECT ${FILE_COLUMNS} FROM file WHERE path = ?`, path)[0];
  }

  /**
   * The entries that may match: every entry in the range that matches is among them.
   * @returns undefined if the index does not help: it has no sequences for the query
   */
  candidates(matcher: QueryMatcher, range: CandidateRange): Candidate[] | undefined {
    const chosen = matcher.terms.flatMap((text, term) => {
      const expression = matcher.selects[term] ? this.#expression(text) : undefined;
      return expression === undefined ? [] : [{ expression, term }];
    });
    const found = new Map<number, Candidate & { counts: number[] }>();
    const add = ({ id, ...row }: CandidateRow, terms: readonly number[]) => {
      const candidate = found.get(id) ?? { ...row, counts: matcher.terms.map(() => 0) };
      for (const term of terms) candidate.counts[term] = 1;
      found.set(id, candidate);
    };
    const allTerms = [...matcher.terms.keys()];
    if (matcher.match === "all") {
      if (chosen.length === 0) return undefined;
      const expressions = chosen.slice(0, MAX_TERMS_OF_ALL).map(({ expression }) => expression);
      for (const row of this.#rows(expressions.join(" AND "), range)) add(row, allTerms);
    } else {
      if (chosen.length < matcher.selects.filter(Boolean).length) return undefined;
      for (const { expression, term } of chosen)
        for (const row of this.#rows(expression, range)) add(row, [term]);
    }
    for (const row of this.#longEntries(range)) add(row, allTerms);
    return [...found.values()];
  }

  *#rows(expression: string, { files, maxPerTerm, maxPerFile }: CandidateRange): Generator<CandidateRow> {
    const only = files.size === 1 ? [...files.keys()] : [];
    // A cross join keeps the order of the tables: the text is looked up first.
    const statement = this.#database.prepare(
      `SELECT ${CANDIDATE_COLUMNS} FROM text CROSS JOIN entry ON entry.id = text.rowid CROSS JOIN file ON file.id = entry.file
       WHERE text MATCH ? ${only.length === 1 ? "AND file.path = ?" : ""} ORDER BY text.rowid DESC`,
    );
    let taken = 0;
    const perFile = new Map<string, number>();
    for (const row of statement.iterate(expression, ...only) as Iterable<unknown> as Iterable<CandidateRow>) {
      const count = perFile.get(row.file) ?? 0;
      if (count >= maxPerFile || !files.has(row.file)) continue;
      perFile.set(row.file, count + 1);
      if (taken++ >= maxPerTerm) return;
      yield row;
    }
  }

  #longEntries({ files }: CandidateRange): CandidateRow[] {
    const sql = `SELECT ${CANDIDATE_COLUMNS} FROM entry JOIN file ON file.id = entry.file WHERE is_long`;
    return this.#all<CandidateRow>(sql).filter(({ file }) => files.has(file));
  }

  /** The expression to look up for a term; undefined if a look-up would not help. */
  #expression(term: string): string | undefined {
    // Half a character is found only in a text, which knows no UTF-8.
    if (!term.isWellFormed()) return undefined;
    const characters = [...safeText(term)];
    if (characters.length >= SEQUENCE_CHARACTERS) {
      return sequencesOf(characters).map(quoted).join(" AND ");
    }
    const begin = characters.join("");
    const rows = this.#all<{ term: string }>(
      `SELECT term FROM sequence WHERE term >= ? AND term < ? LIMIT ${MAX_SEQUENCES + 1}`,
      ...[begin, `${begin}\u{10ffff}`],
    );
    if (rows.length > MAX_SEQUENCES) return undefined;
    // A sequence of no entry is looked up too: it has no candidates.
    const sequences = rows.length === 0 ? ["\u0001\u0001\u0001"] : rows.map((row) => row.term);
    return `(${sequences.map(quoted).join(" OR ")})`;
  }

  /** Runs a change as a whole or not at all. @throws what SQLite throws; see `isBusy` */
  async change(work: () => Promise<void>): Promise<void> {
    try {
      this.#begin();
      await work();
      this.#database.exec("COMMIT");
    } catch (error) {
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

  addEntry(file: number, entry: IndexedEntry): void {
    const { entryId, offset, lengthBytes, characters, timeMs, texts } = entry;
    const added = this.#run(
      "INSERT INTO entry (file, entry_id, offset, length, characters, time_ms, is_long) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ...[file, entryId, offset, lengthBytes, characters, timeMs, texts === undefined ? 1 : 0],
    );
    if (texts === undefined) return;
    const body = texts.map((text) => safeText(caseFolded(text)) + TEXT_END).join("");
    this.#run("INSERT INTO text (rowid, body) VALUES (?, ?)", added, body);
  }

  /** Notes how far a file is indexed. @returns its id */
  setFile(file: Omit<IndexedFile, "id">): number {
    const { path, inode, size, modifiedMs, offset, line, written, fingerprint } = file;
    this.#run(
      `INSERT INTO file (path, inode, size, modified_ms, offset, line, written, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, size = excluded.size,
       modified_ms = excluded.modified_ms, offset = excluded.offset, line = excluded.line, written = excluded.written,
       fingerprint = excluded.fingerprint`,
      ...[path, inode, size, modifiedMs, offset, line, written, fingerprint],
    );
    return this.file(path)!.id;
  }

  removeFile(id: number): void {
    this.#run("DELETE FROM text WHERE rowid IN (SELECT id FROM entry WHERE file = ? AND NOT is_long)", id);
    this.#run("DELETE FROM entry WHERE file = ?", id);
    this.#run("DELETE FROM file WHERE id = ?", id);
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #all<Row>(sql: string, ...values: (string | number)[]): Row[] {
    return this.#prepared(sql).all(...values) as unknown[] as Row[];
  }

  #run(sql: string, ...values: (string | number)[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }
}

function sequencesOf(characters: readonly string[]): string[] {
  const last = characters.length - SEQUENCE_CHARACTERS;
  const step = Math.max(1, Math.ceil(last / (MAX_LOOKED_UP - 1)));
  const sequences = new Set<string>();
  for (let at = 0; at < last; at += step) sequences.add(characters.slice(at, at + 3).join(""));
  return [...sequences.add(characters.slice(last).join(""))];
}

function quoted(sequence: string): string {
  return `"${sequence.replaceAll('"', '""')}"`;
}

/** The tokenizer ends at a zero, and half a surrogate pair is no character. */
function safeText(text: string): string {
  return text.replaceAll("\0", "\u0001").toWellFormed();
}
