import { isKey } from "./entry-head.ts";

/** A power of two, which doubles when it is used up. Sessions with fewer records stay small: the columns take 44 kB. */
const FIRST_CAPACITY = 1 << 10;

/** The index's facts about each record, by its number, in columns: about 30 bytes a record. */
export class RecordColumns {
  count = 0;
  offset = new Float64Array(FIRST_CAPACITY);
  lengthBytes = new Float64Array(FIRST_CAPACITY);
  line = new Uint32Array(FIRST_CAPACITY);
  /** Number in the list of types. */
  type = new Uint32Array(FIRST_CAPACITY);
  /** Number in the list of details; -1 for none. */
  detail = new Int16Array(FIRST_CAPACITY);
  /** Record number; -1 for a root. */
  parent = new Int32Array(FIRST_CAPACITY);
  /** 1: the place in the tree is known, the body is lost. */
  damaged = new Uint8Array(FIRST_CAPACITY);

  /** Adds a record and returns its number. */
  add(record: {
    offset: number;
    lengthBytes: number;
    line: number;
    type: number;
    detail: number;
    parent: number;
    damaged: boolean;
  }): number {
    if (this.count === this.offset.length) this.#grow();
    const number = this.count;
    this.offset[number] = record.offset;
    this.lengthBytes[number] = record.lengthBytes;
    this.line[number] = record.line;
    this.type[number] = record.type;
    this.detail[number] = record.detail;
    this.parent[number] = record.parent;
    this.damaged[number] = record.damaged ? 1 : 0;
    this.count += 1;
    return number;
  }

  #grow(): void {
    const capacity = 2 * this.offset.length;
    this.offset = copied(this.offset, new Float64Array(capacity));
    this.lengthBytes = copied(this.lengthBytes, new Float64Array(capacity));
    this.line = copied(this.line, new Uint32Array(capacity));
    this.type = copied(this.type, new Uint32Array(capacity));
    this.detail = copied(this.detail, new Int16Array(capacity));
    this.parent = copied(this.parent, new Int32Array(capacity));
    this.damaged = copied(this.damaged, new Uint8Array(capacity));
  }
}

function copied<Column extends { set(from: Column): void }>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}

/** Number of names that are compared as bytes. For later ones, a string is made. */
const COMPARED_NAMES = 8;

/** Numbers for the few different names in the heads of many entries: types, roles, custom types. */
export class Names {
  readonly #names: string[] = [];
  readonly #bytes: Buffer[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #maxNames: number;

  /** @param maxNames maximum number of names that get a number. Default: no limit */
  constructor(maxNames = Number.POSITIVE_INFINITY) {
    this.#maxNames = maxNames;
  }

  /** The name with this number; undefined for -1. */
  name(number: number): string | undefined {
    return this.#names[number];
  }

  number(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  /** The number of the name in these bytes, a new one if necessary; -1 for an empty range, or if there is none left. */
  numberOf(bytes: Buffer, start: number, end: number): number {
    for (let number = 0; number < this.#bytes.length; number += 1)
      if (isKey(bytes, start, end, this.#bytes[number]!)) return number;
    if (start < 0) return NONE;
    const name = bytes.toString("utf8", start, end);
    const known = this.#numbers.get(name);
    if (known !== undefined || this.#names.length === this.#maxNames) return known ?? NONE;
    if (this.#bytes.length < COMPARED_NAMES) this.#bytes.push(Buffer.from(name));
    this.#numbers.set(name, this.#names.length);
    return this.#names.push(name) - 1;
  }
}

const NONE = -1;
const HEX_ID = /^[\da-f]{8}$/;

/**
 * The ids of numbered records, and the records of an id. An id of 8 hexadecimal characters takes four bytes;
 * others are kept as strings. No JavaScript object exists per record.
 */
export class IdTable {
  #keys = new Uint32Array(FIRST_CAPACITY);
  /** The record that had the same slot before this one. */
  #older = new Int32Array(FIRST_CAPACITY);
  /** Newest record by slot. */
  #slots = new Int32Array(FIRST_CAPACITY).fill(NONE);
  /** Ids that are not 8 hexadecimal characters. */
  readonly #longIds = new Map<number, string>();
  #count = 0;

  /** Adds the id of the next record, from the bytes. */
  add(bytes: Buffer, start: number, end: number): void {
    const key = end - start === 8 ? hexKey(bytes, start) : NONE;
    if (key === NONE) this.addText(bytes.toString("utf8", start, end));
    else this.#add(key);
  }

  addText(id: string): void {
    const key = hexKeyOf(id);
    if (key === NONE) this.#longIds.set(this.#count, id);
    this.#add(key === NONE ? hash(id) : key);
  }

  /** True if a record has this id. Faster than a comparison with `text`. */
  isNamed(record: number, id: string): boolean {
    const longId = this.#longIds.get(record);
    return longId === undefined ? hexKeyOf(id) === this.#keys[record] : longId === id;
  }

  text(record: number): string {
    return this.#longIds.get(record) ?? this.#keys[record]!.toString(16).padStart(8, "0");
  }

  /** The newest record before `before` with the id in the bytes; -1 for none. */
  newest(bytes: Buffer, start: number, end: number, before: number): number {
    const key = end - start === 8 ? hexKey(bytes, start) : NONE;
    if (key === NONE) return this.newestOf(bytes.toString("utf8", start, end), before);
    return this.#newest(key, undefined, before);
  }

  /** The newest record before `before` (default: of all) with this id; -1 for none. */
  newestOf(id: string, before: number = this.#count): number {
    const key = hexKeyOf(id);
    return key === NONE ? this.#newest(hash(id), id, before) : this.#newest(key, undefined, before);
  }

  /** The oldest record of all with this id, a damaged one only where all are; -1 for none. */
  oldestOf(id: string, isDamaged: (record: number) => boolean): number {
    let found = NONE;
    for (let record = this.newestOf(id); record >= 0; record = this.earlier(record))
      if (found === NONE || isDamaged(found) || !isDamaged(record)) found = record;
    return found;
  }

  /** The newest record before this one with the same id; -1 for none. */
  earlier(record: number): number {
    const key = this.#keys[record]!;
    return this.#matching(this.#older[record]!, key, this.#longIds.get(record), record);
  }

  /** Removes the newest record. */
  dropNewest(): void {
    this.#count -= 1;
    this.#longIds.delete(this.#count);
    this.#slots[this.#slotOf(this.#keys[this.#count]!)] = this.#older[this.#count]!;
  }

  #newest(key: number, longId: string | undefined, before: number): number {
    return this.#matching(this.#slots[this.#slotOf(key)]!, key, longId, before);
  }

  #matching(first: number, key: number, longId: string | undefined, before: number): number {
    let record = first;
    while (record >= 0) {
      const isSame = this.#keys[record] === key && this.#longIds.get(record) === longId;
      if (isSame && record < before) return record;
      record = this.#older[record]!;
    }
    return NONE;
  }

  #add(key: number): void {
    if (this.#count === this.#keys.length) this.#grow();
    this.#keys[this.#count] = key;
    this.#link(this.#count);
    this.#count += 1;
  }

  #link(record: number): void {
    const slot = this.#slotOf(this.#keys[record]!);
    this.#older[record] = this.#slots[slot]!;
    this.#slots[slot] = record;
  }

  #slotOf(key: number): number {
    // Capacity is a power of two; the multiplication spreads ids that count upwards.
    return Math.imul(key, 0x9e3779b1) >>> (Math.clz32(this.#slots.length) + 1);
  }

  #grow(): void {
    const capacity = 2 * this.#keys.length;
    const keys = new Uint32Array(capacity);
    keys.set(this.#keys);
    this.#keys = keys;
    this.#older = new Int32Array(capacity);
    this.#slots = new Int32Array(capacity).fill(NONE);
    for (let record = 0; record < this.#count; record += 1) this.#link(record);
  }
}

/** Eight lower-case hexadecimal digits as a number; -1 for anything else. */
function hexKey(bytes: Uint8Array, start: number): number {
  let key = 0;
  for (let at = start; at < start + 8; at += 1) {
    const digit = hexDigit(bytes[at]!);
    if (digit < 0) return NONE;
    key = key * 16 + digit;
  }
  return key;
}

function hexKeyOf(id: string): number {
  return HEX_ID.test(id) ? Number.parseInt(id, 16) : NONE;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x66) return code - 0x57;
  return NONE;
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}

/** The reason why an entry has no earlier entry as its parent. */
type InvalidParentKind = "missing_parent" | "late_parent" | "cycle";

export interface InvalidParent {
  readonly record: number;
  /** Undefined if the entry names neither null nor an id. */
  readonly parentId: string | undefined;
  readonly kind: InvalidParentKind;
}

/**
 * Chooses parents for the entries whose parent is not before them, so that the model still sees the earlier entries: a
 * later entry with the parent's id, unless that closes a cycle; else the nearest earlier entry. If a damaged line may be
 * the missing parent, it is the nearest entry before that line.
 *
 * Invariant: every entry reaches a root.
 */
export class ParentRepair {
  #records: Array<{ record: number; parentId: string | undefined }> = [];
  #kinds: InvalidParentKind[] = [];

  add(record: number, parentId: string | undefined): void {
    this.#records.push({ record, parentId });
  }

  /** Removes the records from this one on. */
  dropFrom(record: number): void {
    while ((this.#records.at(-1)?.record ?? -1) >= record) this.#records.pop();
  }

  list(): InvalidParent[] {
    return this.#records.map((record, index) => ({ ...record, kind: this.#kinds[index]! }));
  }

  /**
   * Writes the parents into the columns.
   * @param damagedBefore for each damaged line, the number of the record that comes after it, ascending
   */
  resolve(columns: RecordColumns, ids: IdTable, damagedBefore: readonly number[]): void {
    this.#kinds = [];
    if (this.#records.length === 0) return;
    for (const { record } of this.#records) columns.parent[record] = -1;
    const forest = new Forest(columns);
    const bridges = new Bridges(damagedBefore);
    const oldest = new Map<string, number>();
    const isDamaged = (record: number) => columns.damaged[record] === 1;
    for (const { record, parentId } of this.#records) {
      const later = parentId === undefined ? -1 : (oldest.get(parentId) ?? ids.oldestOf(parentId, isDamaged));
      if (parentId !== undefined) oldest.set(parentId, later);
      const late = later >= 0 && forest.link(record, later);
      this.#kinds.push(later < 0 ? "missing_parent" : late ? "late_parent" : "cycle");
      if (!late) forest.link(record, bridges.targetOf(record, parentId));
    }
  }
}

/** Finds the root of each record, with shortcuts, to refuse a link that would close a cycle. */
class Forest {
  readonly #parent: Int32Array;
  readonly #up: Int32Array;

  constructor(columns: RecordColumns) {
    this.#parent = columns.parent;
    this.#up = columns.parent.slice(0, columns.count);
  }

  /** Links a root to a parent. Returns false, and changes nothing, if that would close a cycle. */
  link(root: number, parent: number): boolean {
    if (parent < 0 || this.#rootOf(parent) === root) return false;
    this.#parent[root] = parent;
    this.#up[root] = parent;
    return true;
  }

  #rootOf(record: number): number {
    let at = record;
    for (let up = this.#up[at]!; up >= 0; up = this.#up[at]!) {
      const next = this.#up[up]!;
      if (next >= 0) this.#up[at] = next;
      at = next >= 0 ? next : up;
    }
    return at;
  }
}

/** Chooses the parent of entries whose parent is not in the file. Entries that miss the same id get the same one. */
class Bridges {
  readonly #damagedBefore: readonly number[];
  readonly #targets = new Map<string, number>();
  /** Number of damaged lines that already explain a missing id. */
  #explained = 0;

  constructor(damagedBefore: readonly number[]) {
    this.#damagedBefore = damagedBefore;
  }

  targetOf(record: number, parentId: string | undefined): number {
    const known = parentId === undefined ? undefined : this.#targets.get(parentId);
    const target = known ?? this.#damageBefore(record) - 1;
    if (parentId !== undefined) this.#targets.set(parentId, target);
    return target;
  }

  /** The record after the nearest damaged line that explains nothing yet; without one, the record itself. */
  #damageBefore(record: number): number {
    let at = this.#explained;
    while (at < this.#damagedBefore.length && this.#damagedBefore[at]! <= record) at += 1;
    if (at === this.#explained) return record;
    this.#explained = at;
    return this.#damagedBefore[at - 1]!;
  }
}
