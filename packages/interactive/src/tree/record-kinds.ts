import { kindWord } from "@bonsai-agent/app/preview";
import { type OutlineEntry, outlineEntry } from "@bonsai-agent/app/session-tree";
import {
  type EntryIndex,
  type EntryRecord,
  SESSION_VERSION,
  type Session,
  type SessionStore,
} from "@bonsai-agent/session";

/** So much of a line is looked at: the head of a message entry fits, whatever follows. */
const headBytes = 256;

/** The head of a message as Bonsai writes it; lines that are written in another way are parsed. */
const messageHead =
  /^\{"type":"message","id":"[^"\\]*","parentId":(?:null|"[^"\\]*"),"timestamp":"[^"\\]*","message":\{"role":"([A-Za-z]+)"/;

/** One read for the heads of many short lines; of long lines, little more than the head is read. */
const windowBytes = 16_384;

type RecordKind = Pick<OutlineEntry, "type" | "kind" | "isLeafRecord" | "undoes">;

/**
 * What kind of entry each record of a session is: owner of what was read of that once, so that nobody reads it again. A
 * kind takes eight bytes.
 */
export class RecordKinds {
  readonly #session: Session;
  readonly #index: EntryIndex;
  /** By record number. */
  #kinds: (RecordKind | undefined)[] = [];
  /** The last record that is known: another one in its place tells of another file. */
  #last: Pick<EntryRecord, "number" | "id" | "offset"> | undefined;

  private constructor(session: Session, index: EntryIndex) {
    this.#session = session;
    this.#index = index;
  }

  /** Of the session as it is stored now. */
  static of(session: Session): RecordKinds {
    const index = session.index();
    const known = read.get(index) ?? new RecordKinds(session, index);
    read.set(index, known);
    if (known.#isOfAnotherFile()) known.#forget();
    return known;
  }

  /** Reads the kinds that are not known, one at a step. */
  *readAhead(): Generator<void> {
    const heads = new HeadReader(this.#session.store);
    for (let number = 0; number < this.#index.settledCount; number += 1) {
      if (this.#index.isDamaged(number) || this.#kinds[number] !== undefined) continue;
      this.#kindOf(this.#index.record(number), heads);
      yield;
    }
  }

  /** All entries in file order, without their bodies. */
  outline(): OutlineEntry[] {
    const heads = new HeadReader(this.#session.store);
    const outline: OutlineEntry[] = [];
    for (const record of this.#index.records()) {
      const known = this.#kindOf(record, heads);
      const { number, id, parentId } = record;
      if (known !== undefined) outline.push({ number, id, parentId, ...known });
    }
    return outline;
  }

  #kindOf(record: EntryRecord, heads: HeadReader): RecordKind | undefined {
    const known = this.#kinds[record.number];
    if (known !== undefined) return known;
    const kind = this.#quickKind(record, heads) ?? this.#parsedKind(record);
    // The last line may not be written to its end yet.
    if (kind === undefined || this.#index.isOpenLine(record.number)) return kind;
    this.#kinds[record.number] = kind;
    if (this.#last === undefined || record.number > this.#last.number) this.#last = record;
    return kind;
  }

  #quickKind(record: EntryRecord, heads: HeadReader): RecordKind | undefined {
    if (record.type !== "message" || this.#session.header.version !== SESSION_VERSION) return undefined;
    const role = messageHead.exec(heads.head(record))?.[1];
    return role === undefined ? undefined : kindNamed("message", kindWord(role));
  }

  #parsedKind({ number }: EntryRecord): RecordKind | undefined {
    const entry = this.#session.entryAt(number);
    if (entry === undefined) return undefined;
    const { type, kind, isLeafRecord, undoes } = outlineEntry(entry, number);
    if (undoes !== undefined) return { type, kind, isLeafRecord, undoes };
    return isLeafRecord ? { type, kind, isLeafRecord } : kindNamed(type, kind);
  }

  #isOfAnotherFile(): boolean {
    if (this.#last === undefined) return false;
    const { number, id, offset } = this.#last;
    return (
      number >= this.#index.count ||
      this.#index.id(number) !== id ||
      this.#index.place(number).offset !== offset
    );
  }

  #forget(): void {
    this.#kinds = [];
    this.#last = undefined;
  }
}

const read = new WeakMap<EntryIndex, RecordKinds>();

/** The same object for the same words. */
function kindNamed(type: OutlineEntry["type"], kind: string): RecordKind {
  const name = `${type} ${kind}`;
  const known = named.get(name) ?? { type, kind, isLeafRecord: false };
  if (named.size < maxNamed) named.set(name, known);
  return known;
}

const named = new Map<string, RecordKind>();
/** There are a dozen; a damaged file can hold any number. */
const maxNamed = 100;

/** Reads the heads of lines, one after the other. */
class HeadReader {
  readonly #store: SessionStore;
  readonly #memory = Buffer.alloc(windowBytes);
  #from = 0;
  #until = 0;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  head({ offset, lengthBytes }: Pick<EntryRecord, "offset" | "lengthBytes">): string {
    const length = Math.min(headBytes, lengthBytes);
    if (offset < this.#from || offset + length > this.#until) {
      this.#from = offset;
      this.#until = offset + this.#store.read(this.#memory, offset);
    }
    const start = offset - this.#from;
    return this.#memory.toString("latin1", start, Math.min(start + length, this.#until - this.#from));
  }
}

/**
 * All entries in file order, as `sessionOutline` gives them, in a tenth of its time: messages are not parsed, so that one
 * whose body is damaged stands among them.
 */
export function treeOutline(session: Session): OutlineEntry[] {
  return RecordKinds.of(session).outline();
}
