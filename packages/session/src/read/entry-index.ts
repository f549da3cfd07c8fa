import type { EntryType } from "../entry.ts";
import type { CompactionChange } from "../own-entries.ts";
import { forEachLine, type Line, readBytes } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";
import { EntryHead, type LineKind } from "./entry-head.ts";
import { gluedEntries } from "./glued-entries.ts";
import { IdTable, type InvalidParent, Names, ParentRepair, RecordColumns } from "./records.ts";

const OPEN_BRACE = 0x7b;
/** A damaged file can have any number of them. */
const MAX_DETAILS = 1000;

/** An entry in the index: its head, and the place of its line. */
export interface EntryRecord {
  /** Place in the file's order of entries, from 0; damaged ones are counted. */
  readonly number: number;
  readonly id: string;
  /** The parent in the tree. In a damaged file, the entry may name another one. */
  readonly parentId: string | null;
  readonly type: string;
  /** The line's first byte, and its length without the newline. */
  readonly offset: number;
  readonly lengthBytes: number;
  /** From 1, as an editor counts. */
  readonly line: number;
}

/** The kind of a record, as far as a tree distinguishes kinds. */
export interface RecordKind {
  readonly type: EntryType;
  /** The word for it in a column, see `kindWord`. */
  readonly kind: string;
  /** True for the record of a moved leaf. */
  readonly isLeafRecord: boolean;
  /** True for a message that only the model reads: no view of the conversation shows it. */
  readonly isForModelOnly: boolean;
  /** The compaction that it undoes or redoes. */
  readonly change?: CompactionChange;
}

/** A line that is no entry and no first header. */
export interface DamagedLine {
  readonly line: number;
  readonly kind: Exclude<LineKind, "entry" | "no_id" | "blank">;
  /** False for a last line without its newline. */
  readonly ended: boolean;
  /** Number of records before it. */
  readonly before: number;
  /** Number of whole entries in the damaged line, which are still read. Default: none. */
  readonly keeps?: number;
}

/**
 * Every entry of a session by id, parent, type and place, without a parsed body. Owner of the tree's links.
 * `catchUp` adds the entries that this or another program has appended since.
 *
 * Invariant: the parent of an entry is the nearest earlier entry with the id that it names; without one, the entry that
 * `ParentRepair` chooses.
 */
export class EntryIndex {
  readonly #store: SessionStore;
  /** True for version 1: each entry without an id has the entry before it as its parent. */
  readonly #chained: boolean;
  readonly #columns = new RecordColumns();
  readonly #ids = new IdTable();
  readonly #parentRepair = new ParentRepair();
  readonly #types = new Names();
  /** Roles and custom types. */
  readonly #details = new Names(MAX_DETAILS);
  readonly #damagedLines: DamagedLine[] = [];
  /** Records without an id of their own, ascending. */
  readonly #unnamed: number[] = [];
  readonly #head = new EntryHead();
  /** By number: kinds that only the parsed entry shows. */
  readonly #kinds: Array<RecordKind | undefined> = [];
  #scannedTo = 0;
  #lines = 0;
  /** Records whose line begins with other bytes than the entry: spaces, or zero bytes after a crash. */
  readonly #prefixed = new Set<number>();
  /** Number of lines that are not blank, header included. Version 1 numbers entries by it. */
  #written = 0;
  /** The last scanned line, if it had no newline yet: it is read again. */
  #open: { records: number; isDamaged: boolean; offset: number } | undefined;

  constructor(options: { store: SessionStore; version: number }) {
    this.#store = options.store;
    this.#chained = options.version === 1;
  }

  /** Number of records, damaged ones included. */
  get count(): number {
    return this.#columns.count;
  }

  /**
   * Reads what was appended since the last time.
   * @returns false, and reads nothing, if the store is shorter than it was: then only a new index knows it
   */
  catchUp(): boolean {
    const size = this.#store.size();
    if (size <= this.#scannedTo) return size === this.#scannedTo;
    this.#dropOpenLine();
    this.#lines += forEachLine({
      store: this.#store,
      from: this.#scannedTo,
      until: size,
      firstNumber: this.#lines + 1,
      visit: (line) => this.#visit(line),
    });
    this.#scannedTo = size;
    const damagedBefore = this.#damagedLines.map((damaged) => damaged.before);
    this.#parentRepair.resolve(this.#columns, this.#ids, damagedBefore);
    return true;
  }

  /** Number of the newest record with this id; -1 for none. */
  find(id: string): number {
    return this.#ids.newestOf(id);
  }

  id(number: number): string {
    return this.#ids.text(number);
  }

  type(number: number): string {
    return this.#types.name(this.#columns.type[number]!)!;
  }

  /** The role of a message or the custom type of an entry; undefined if only the parsed entry tells. */
  detail(number: number): string | undefined {
    return this.#details.name(this.#columns.detail[number]!);
  }

  /** True if the record has this id, and its parent that one. */
  isPlaced(number: number, id: unknown, parentId: unknown): boolean {
    if (typeof id !== "string" || !this.#ids.isNamed(number, id)) return false;
    const parent = this.parent(number);
    return parent < 0
      ? parentId === null
      : typeof parentId === "string" && this.#ids.isNamed(parent, parentId);
  }

  /** Number of the nearest undamaged ancestor; -1 for a root. */
  parent(number: number): number {
    let parent = this.#columns.parent[number]!;
    while (parent >= 0 && this.#columns.damaged[parent] === 1) parent = this.#columns.parent[parent]!;
    return parent;
  }

  /** True if the record's place in the tree is known, but its body is lost. */
  isDamaged(number: number): boolean {
    return this.#columns.damaged[number] === 1;
  }

  markDamaged(number: number): void {
    this.#columns.damaged[number] = 1;
  }

  /** The kind of a record; undefined before `learn` keeps it. */
  kind(number: number): RecordKind | undefined {
    return this.#kinds[number];
  }

  /** Stores the kind of a record, so that its entry is not parsed again for it. */
  learn(number: number, kind: RecordKind): void {
    // The last line may not be written to its end yet.
    if (!this.isOpenLine(number)) this.#kinds[number] = kind;
  }

  /** The place of a record's line. */
  place(number: number): { offset: number; lengthBytes: number } {
    return { offset: this.#columns.offset[number]!, lengthBytes: this.#columns.lengthBytes[number]! };
  }

  record(number: number): EntryRecord {
    const parent = this.parent(number);
    return {
      number,
      id: this.id(number),
      parentId: parent < 0 ? null : this.id(parent),
      type: this.type(number),
      ...this.place(number),
      line: this.#columns.line[number]!,
    };
  }

  /** The undamaged records from `from` on, in file order. */
  *records(from = 0): Generator<EntryRecord> {
    for (let number = from; number < this.count; number += 1)
      if (!this.isDamaged(number)) yield this.record(number);
  }

  /** Numbers of the undamaged records of this type from `from` on, in file order. */
  numbersOf(type: string, from = 0): number[] {
    const wanted = this.#types.number(type);
    const { count, type: types } = this.#columns;
    const numbers: number[] = [];
    for (let number = from; number < count; number += 1) {
      if (types[number] === wanted && !this.isDamaged(number)) numbers.push(number);
    }
    return numbers;
  }

  /** Numbers from a root to this record, itself included; damaged ones are left out. */
  ancestry(number: number): number[] {
    const numbers: number[] = [];
    for (let at = number; at >= 0; at = this.parent(at)) if (!this.isDamaged(at)) numbers.push(at);
    return numbers.reverse();
  }

  /** Number of the deepest record on both paths; -1 if they share none. */
  commonAncestor(first: number, second: number): number {
    const above = new Set(this.ancestry(first));
    let number = second;
    while (number >= 0 && !above.has(number)) number = this.parent(number);
    return number;
  }

  /** Number of the newest earlier undamaged record with the same id; -1 for none. */
  earlierOfSameId(number: number): number {
    let earlier = this.#ids.earlier(number);
    while (earlier >= 0 && this.isDamaged(earlier)) earlier = this.#ids.earlier(earlier);
    return earlier;
  }

  /** Lines that are no entries, in file order. */
  damagedLines(): readonly DamagedLine[] {
    return this.#damagedLines;
  }

  /** Number of damaged lines. Excludes an unfinished last line. */
  get damageCount(): number {
    let count = this.#damagedLines.filter(({ ended, kind }) => ended && kind !== "header").length;
    for (let number = 0; number < this.settledCount; number += 1) if (this.isDamaged(number)) count += 1;
    return count;
  }

  /** Numbers of the records whose line has no id: they are named after the line. */
  unnamed(): readonly number[] {
    return this.#unnamed;
  }

  invalidParents(): InvalidParent[] {
    return this.#parentRepair.list();
  }

  /** Number of records that stay as they are: all except those of a last line without a newline. */
  get settledCount(): number {
    return this.count - (this.#open?.records ?? 0);
  }

  /** True if the record is in the file's last line, and that has no newline. */
  isOpenLine(number: number): boolean {
    return number >= this.settledCount;
  }

  #visit(line: Line): void {
    const kind = this.#head.read(line, this.#store);
    if (kind === "blank") return;
    const entries = this.#head.isSuspect(line, kind) ? gluedEntries(line, this.#store) : undefined;
    if (entries === undefined) this.#visitOne(line, kind);
    else this.#visitGlued(line, entries);
  }

  /** Visits the entries of a damaged line. The rest of the line is garbage. */
  #visitGlued(line: Line, entries: readonly Line[]): void {
    const damaged = { line: line.number, kind: "damaged_line", ended: true, keeps: entries.length } as const;
    this.#damagedLines.push({ ...damaged, before: this.count });
    if (!line.ended) this.#open = { records: entries.length, isDamaged: true, offset: line.offset };
    for (const entry of entries) {
      this.#prefixed.add(this.count);
      this.#addRecord(entry, this.#head.read(entry, this.#store) as "entry");
    }
    this.#written += 1;
  }

  #visitOne(line: Line, kind: LineKind): void {
    if (kind === "entry" && this.#isSecondCopy(line)) {
      this.#written += 1;
      return;
    }
    const isRecord = kind === "entry" || kind === "no_id";
    const isDamaged = !isRecord && (kind !== "header" || this.#written > 0);
    if (!line.ended) this.#open = { records: isRecord ? 1 : 0, isDamaged, offset: line.offset };
    if (isRecord) this.#addRecord(line, kind);
    else if (isDamaged)
      this.#damagedLines.push({
        line: line.number,
        kind: kind as DamagedLine["kind"],
        ended: line.ended,
        before: this.count,
      });
    this.#written += 1;
  }

  #addRecord(line: Line, kind: "entry" | "no_id"): void {
    const head = this.#head;
    // An entry with an id and a parent is of a newer version than 1, even under a header of version 1.
    const isChained = this.#chained && (kind === "no_id" || (head.parentStart < 0 && !head.isRoot));
    if (isChained) this.#ids.addText(chainedId(this.#written));
    else if (kind === "no_id") this.#addUnnamed(line);
    else this.#ids.add(head.bytes, head.idStart, head.idEnd);
    if (line.bytes[line.start] !== OPEN_BRACE) this.#prefixed.add(this.count);
    this.#columns.add({
      offset: line.offset,
      lengthBytes: line.lengthBytes,
      line: line.number,
      type: this.#types.numberOf(head.bytes, head.typeStart, head.typeEnd),
      detail: head.readDetail(line)
        ? this.#details.numberOf(head.bytes, head.stringStart, head.stringEnd)
        : -1,
      parent: isChained ? this.count - 1 : this.#parentNumber(),
      damaged: head.isCutOff,
    });
  }

  /**
   * True for a line that repeats an entry from a damaged line word for word. `LineAppender` writes such an entry again on a
   * line of its own.
   */
  #isSecondCopy(line: Line): boolean {
    if (this.#prefixed.size === 0 || !line.ended) return false;
    const { bytes, idStart, idEnd } = this.#head;
    const first = this.#ids.newest(bytes, idStart, idEnd, this.count);
    if (!this.#prefixed.has(first)) return false;
    const { offset, lengthBytes } = this.place(first);
    const end = { offset: offset + lengthBytes - line.lengthBytes, lengthBytes: line.lengthBytes };
    return (
      line.lengthBytes <= lengthBytes && readBytes(this.#store, end).equals(readBytes(this.#store, line))
    );
  }

  #addUnnamed(line: Line): void {
    this.#unnamed.push(this.count);
    this.#ids.addText(unnamedId(line.number));
  }

  /** The nearest earlier record with the parent's id; -1, and a note for the repair, if there is none. */
  #parentNumber(): number {
    const head = this.#head;
    if (head.isRoot) return -1;
    // The table already contains this record, which is not its own parent.
    const parent =
      head.parentStart < 0 ? -1 : this.#ids.newest(head.bytes, head.parentStart, head.parentEnd, this.count);
    if (parent < 0) this.#parentRepair.add(this.count, head.parentId ?? undefined);
    return parent;
  }

  /** Removes the records of a last line without a newline: it may be complete now. */
  #dropOpenLine(): void {
    if (this.#open === undefined) return;
    this.#scannedTo = this.#open.offset;
    this.#written -= 1;
    for (let left = this.#open.records; left > 0; left -= 1) {
      this.#columns.count -= 1;
      this.#ids.dropNewest();
      this.#prefixed.delete(this.count);
      if (this.#unnamed.at(-1) === this.count) this.#unnamed.pop();
      this.#parentRepair.dropFrom(this.count);
    }
    if (this.#open.isDamaged) this.#damagedLines.pop();
    this.#open = undefined;
  }
}

/** The id of an entry that has none, under a header of a version whose entries have one. */
export function unnamedId(line: number): string {
  return `line-${line}`;
}

/** The id of a version 1 entry: its number among the lines that are not blank, with 0 for the header. */
export function chainedId(place: number): string {
  return place.toString(16).padStart(8, "0");
}
