const FIRST_CAPACITY = 1024;

/** What the index knows of each record, by its number, in columns: about 25 bytes a record. */
export class RecordColumns {
  count = 0;
  offset = new Float64Array(FIRST_CAPACITY);
  lengthBytes = new Float64Array(FIRST_CAPACITY);
  line = new Uint32Array(FIRST_CAPACITY);
  /** Number in the list of types. */
  type = new Uint32Array(FIRST_CAPACITY);
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
    parent: number;
    damaged: boolean;
  }): number {
    if (this.count === this.offset.length) this.#grow();
    const number = this.count;
    this.offset[number] = record.offset;
    this.lengthBytes[number] = record.lengthBytes;
    this.line[number] = record.line;
    this.type[number] = record.type;
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
    this.parent = copied(this.parent, new Int32Array(capacity));
    this.damaged = copied(this.damaged, new Uint8Array(capacity));
  }
}

function copied<Column extends { set(from: Column): void }>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
