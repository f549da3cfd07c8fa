import type { FilePosition } from "./entry-lines.ts";
import { BUSY_MS, type IndexDatabase } from "./index-database.ts";
import { folded, type TermMatcher } from "./search-query.ts";

/** Between two texts of an entry and behind the last, so that each of their characters begins a sequence of three. */
const TEXT_END = "\u0001\u0001";
const SEQUENCE_CHARACTERS = 3;

/** The index's facts about a session file. */
export interface IndexedFile extends FilePosition {
  id: number;
  path: string;
  inode: string;
  size: number;
  modified_ms: number;
  fingerprint: string;
}

/** An entry that may match; whether it does is seen in its line. */
export interface Candidate {
  id: number;
  file: number;
  entryId: string;
  offset: number;
  lengthBytes: number;
  /** Length of its texts. */
  characters: number;
  timeMs: number;
  /** Numbers of the terms that it may hold; where it must hold all, empty. */
  terms: number[];
}

/** An entry to be indexed. */
interface IndexedEntry {
  entryId: string;
  offset: number;
  lengthBytes: number;
  timeMs: number;
  characters: number;
  /** Undefined for one that is too long: it is to be read for every query, see `longEntries`. */
  texts: readonly string[] | undefined;
}

/** Which candidates of a term are taken: the newest, of the files that are asked for. */
export interface CandidateRange {
  maxPerTerm: number;
  maxPerFile: number;
  isWanted: (file: number, entryId: string) => boolean;
  /** The only file that is asked for. */
  file: number | undefined;
}

type Row = Record<string, string | number>;

/** The statements of the index. Owner of what its tables hold. */
export class SearchIndex {
  readonly place: IndexDatabase;

  constructor(place: IndexDatabase) {
    this.place = place;
  }

  files(): IndexedFile[] {
    return this.#all("SELECT * FROM file") as unknown as IndexedFile[];
  }

  file(path: string): IndexedFile | undefined {
    return this.#all("SELECT * FROM file WHERE path = ?", path)[0] as unknown as IndexedFile | undefined;
  }

  /**
   * The entries that may match, the long ones left out: none that matches is missing among those in the range.
   * @returns undefined where the terms are too short to be looked up
   */
  candidates(matcher: TermMatcher, range: CandidateRange): Candidate[] | undefined {
    const chosen = matcher.terms.flatMap((text, term) => {
      const expression = matcher.selects[term] ? this.#expression(text) : undefined;
      return expression === undefined ? [] : [{ expression, terms: [term] }];
    });
    const isAll = matcher.match === "all";
    const selecting = matcher.selects.filter(Boolean).length;
    if (chosen.length === 0 || (!isAll && chosen.length < selecting)) return undefined;
    const questions = isAll
      ? [
          {
            expression: chosen
              .slice(0, MAX_TERMS_OF_ALL)
              .map(({ expression }) => expression)
              .join(" AND "),
            terms: [],
          },
        ]
      : chosen;
    const found = new Map<number, Candidate>();
    for (const { expression, terms } of questions) this.#collect(found, { expression, terms, range });
    return [...found.values()];
  }

  /** Entries that are too long to be looked up. */
  longEntries(range: CandidateRange): Candidate[] {
    return this.#all("SELECT * FROM entry WHERE is_long")
      .filter((row) => isOf(range, row))
      .map((row) => candidateOf(row, []));
  }

  #collect(
    found: Map<number, Candidate>,
    { expression, terms, range }: { expression: string; terms: readonly number[]; range: CandidateRange },
  ): void {
    const one = range.file === undefined ? "" : "AND entry.file = ?";
    const statement = this.place.database.prepare(
      `SELECT entry.* FROM text JOIN entry ON entry.id = text.rowid WHERE text MATCH ? ${one} ORDER BY text.rowid DESC`,
    );
    let taken = 0;
    const ofFile = new Map<number, number>();
    for (const row of statement.iterate(expression, ...(range.file === undefined ? [] : [range.file]))) {
      const before = ofFile.get(row.file as number) ?? 0;
      if (before >= range.maxPerFile || !isOf(range, row as Row)) continue;
      ofFile.set(row.file as number, before + 1);
      if (taken++ >= range.maxPerTerm) break;
      const known = found.get(row.id as number);
      if (known === undefined) found.set(row.id as number, candidateOf(row as Row, [...terms]));
      else known.terms.push(...terms);
    }
  }

  /** The expression to look up for a term; undefined if a look-up would not help. */
  #expression(term: string): string | undefined {
    // Half a character is found only in a text, which knows no UTF-8.
    if (!term.isWellFormed()) return undefined;
    const characters = [...safeText(term)];
    if (characters.length >= SEQUENCE_CHARACTERS) {
      return sequencesOf(characters).map(quoted).join(" AND ");
    }
    const sequences = this.#all(
      `SELECT term FROM sequence WHERE term >= ? AND term < ? LIMIT ${MAX_SEQUENCES + 1}`,
      characters.join(""),
      `${characters.join("")}\u{10ffff}`,
    );
    if (sequences.length > MAX_SEQUENCES) return undefined;
    // A sequence of no entry is looked up too: it has no candidates.
    const begun = sequences.map((row) => String(row.term));
    return `(${(begun.length === 0 ? ["\u0001\u0001\u0001"] : begun).map(quoted).join(" OR ")})`;
  }

  /** Runs a change as a whole or not at all. @throws what SQLite throws, where another process writes at once */
  begin(): void {
    this.place.database.exec("PRAGMA busy_timeout = 0");
    try {
      this.place.database.exec("BEGIN IMMEDIATE");
    } finally {
      this.place.database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  commit(): void {
    this.place.database.exec("COMMIT");
  }

  /** Does nothing where no change is under way. */
  rollback(): void {
    if (this.place.database.isOpen && this.place.database.isTransaction) this.place.database.exec("ROLLBACK");
  }

  addEntry(file: number, entry: IndexedEntry): void {
    const { entryId, offset, lengthBytes, characters, timeMs, texts } = entry;
    const added = this.#run(
      "INSERT INTO entry (file, entry_id, offset, length, characters, time_ms, is_long) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ...[file, entryId, offset, lengthBytes, characters, timeMs, texts === undefined ? 1 : 0],
    );
    if (texts === undefined) return;
    const body = texts.map((text) => safeText(folded(text)) + TEXT_END).join("");
    this.#run("INSERT INTO text (rowid, body) VALUES (?, ?)", added, body);
  }

  /** Notes how far a file is indexed. @returns its id */
  setFile({
    path,
    inode,
    size,
    modified_ms,
    offset,
    line,
    written,
    fingerprint,
  }: Omit<IndexedFile, "id">): number {
    this.#run(
      `INSERT INTO file (path, inode, size, modified_ms, offset, line, written, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, size = excluded.size,
       modified_ms = excluded.modified_ms, offset = excluded.offset, line = excluded.line, written = excluded.written,
       fingerprint = excluded.fingerprint`,
      ...[path, inode, size, modified_ms, offset, line, written, fingerprint],
    );
    return this.file(path)!.id;
  }

  removeFile(id: number): void {
    this.#run("DELETE FROM text WHERE rowid IN (SELECT id FROM entry WHERE file = ? AND NOT is_long)", id);
    this.#run("DELETE FROM entry WHERE file = ?", id);
    this.#run("DELETE FROM file WHERE id = ?", id);
  }

  readonly #statements = new Map<string, ReturnType<IndexDatabase["database"]["prepare"]>>();

  #prepared(sql: string) {
    const statement = this.#statements.get(sql) ?? this.place.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #all(sql: string, ...values: (string | number)[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[];
  }

  #run(sql: string, ...values: (string | number)[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }
}

function isOf({ file, isWanted }: CandidateRange, row: Row): boolean {
  return (file === undefined || file === row.file) && isWanted(row.file as number, row.entry_id as string);
}

function candidateOf(row: Row, terms: number[]): Candidate {
  return {
    id: row.id as number,
    file: row.file as number,
    entryId: row.entry_id as string,
    offset: row.offset as number,
    lengthBytes: row.length as number,
    characters: row.characters as number,
    timeMs: row.time_ms as number,
    terms,
  };
}

/** A term of one or two characters that begins more sequences than this is looked for in the files. */
const MAX_SEQUENCES = 400;
/** Maximum number of terms looked up for a query that needs them all. */
const MAX_TERMS_OF_ALL = 16;
/** Maximum number of sequences looked up for a term. The entry itself tells whether it has the whole term. */
const MAX_LOOKED_UP = 24;

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
