const FIRST_CAPACITY = 1024;
const NONE = -1;

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

  /** Gives the next record its id, which stands in the bytes. */
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

  text(record: number): string {
    return this.#longIds.get(record) ?? this.#keys[record]!.toString(16).padStart(8, "0");
  }

  /** The newest record before `before` with the id in the bytes; -1 for none. */
  newest(bytes: Buffer, range: { start: number; end: number; before: number }): number {
    const key = range.end - range.start === 8 ? hexKey(bytes, range.start) : NONE;
    if (key === NONE) return this.newestOf(bytes.toString("utf8", range.start, range.end), range.before);
    return this.#newest(key, undefined, range.before);
  }

  /** The newest record before `before` (default: of all) with this id; -1 for none. */
  newestOf(id: string, before: number = this.#count): number {
    const key = hexKeyOf(id);
    return key === NONE ? this.#newest(hash(id), id, before) : this.#newest(key, undefined, before);
  }

  /** The oldest record of all with this id; -1 for none. */
  oldestOf(id: string): number {
    let found = NONE;
    for (let record = this.newestOf(id); record >= 0; record = this.earlier(record)) found = record;
    return found;
  }

  /** The newest record before this one with the same id; -1 for none. */
  earlier(record: number): number {
    const key = this.#keys[record]!;
    return this.#matching(this.#older[record]!, { key, longId: this.#longIds.get(record), before: record });
  }

  /** Takes back the newest record. */
  dropNewest(): void {
    this.#count -= 1;
    this.#longIds.delete(this.#count);
    this.#slots[this.#slotOf(this.#keys[this.#count]!)] = this.#older[this.#count]!;
  }

  #newest(key: number, longId: string | undefined, before: number): number {
    return this.#matching(this.#slots[this.#slotOf(key)]!, { key, longId, before });
  }

  #matching(first: number, wanted: { key: number; longId: string | undefined; before: number }): number {
    let record = first;
    while (record >= 0) {
      const same = this.#keys[record] === wanted.key && this.#longIds.get(record) === wanted.longId;
      if (same && record < wanted.before) return record;
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
  if (id.length !== 8) return NONE;
  let key = 0;
  for (let at = 0; at < 8; at += 1) {
    const digit = hexDigit(id.charCodeAt(at));
    if (digit < 0) return NONE;
    key = key * 16 + digit;
  }
  return key;
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
