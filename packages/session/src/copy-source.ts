import { type Entry, SESSION_VERSION } from "./entry.ts";
import { entryFrom, entryLine } from "./entry-body.ts";
import { parseBytes } from "./entry-head.ts";
import type { EntryIndex } from "./entry-index.ts";
import { JsonlStore } from "./jsonl-store.ts";
import { readBytes } from "./line-reader.ts";
import { LineWriter } from "./line-writer.ts";
import type { Session } from "./session.ts";

/** A session's entries as something to copy lines from. */
export interface CopySource<Item> {
  /** From a root to this entry; none for null. */
  path(at: string | null): Item[];
  /** All entries, in file order. */
  all(): Iterable<Item>;
  id(item: Item): string;
  /** Labels and names of all branches, in file order. */
  metadata(): Entry[];
  write(fd: number, items: Iterable<Item>, added: readonly Entry[]): void;
}

/**
 * Copies stored lines byte for byte, and parses none. Only for a file of today's version whose entries hang
 * where they say.
 */
export class StoredLines implements CopySource<number> {
  readonly #store: JsonlStore;
  readonly #index: EntryIndex;

  private constructor(store: JsonlStore, index: EntryIndex) {
    this.#store = store;
    this.#index = index;
  }

  /** Undefined where lines cannot be copied as they are. The caller closes it. */
  static of(session: Session): StoredLines | undefined {
    const version = session.header.version ?? 1;
    if (session.file === undefined || version < SESSION_VERSION) return undefined;
    const index = session.index();
    return isSound(index) ? new StoredLines(JsonlStore.open(session.file), index) : undefined;
  }

  path(at: string | null): number[] {
    return at === null ? [] : this.#index.ancestry(this.#index.find(at));
  }

  all(): Iterable<number> {
    return Array.from({ length: this.#index.count }, (_, number) => number);
  }

  id(number: number): string {
    return this.#index.id(number);
  }

  metadata(): Entry[] {
    const numbers = [...this.#index.numbersOf("label"), ...this.#index.numbersOf("session_info")];
    return numbers.sort((a, b) => a - b).map((number) => this.#entry(number));
  }

  write(fd: number, numbers: Iterable<number>, added: readonly Entry[]): void {
    const writer = new LineWriter(fd, this.#store);
    for (const number of numbers) writer.copy(this.#index.record(number));
    for (const entry of added) writer.write(JSON.stringify(entry));
    writer.end();
  }

  close(): void {
    this.#store.close();
  }

  #entry(number: number): Entry {
    const record = this.#index.record(number);
    return entryFrom(parseBytes(readBytes(this.#store, record)), { ...record, version: SESSION_VERSION })!;
  }
}

/** Every entry has an id and a body, and hangs on the parent that its line names. */
function isSound(index: EntryIndex): boolean {
  if (index.strays().length > 0 || index.unnamed().length > 0) return false;
  for (let number = 0; number < index.count; number++) if (index.isDamaged(number)) return false;
  return index.unnamed().length === 0;
}

/** Copies entries as reading understood them: old versions migrated, damages bridged, sessions in memory. */
export class ParsedEntries implements CopySource<Entry> {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  path(at: string | null): Entry[] {
    return at === null ? [] : this.#session.path(at);
  }

  *all(): Generator<Entry> {
    for (const { entry } of this.#session.scan()) yield entry;
  }

  id(entry: Entry): string {
    return entry.id;
  }

  metadata(): Entry[] {
    const kept: Entry[] = [];
    for (const { entry } of this.#session.scan())
      if (entry.type === "label" || entry.type === "session_info") kept.push(entry);
    return kept;
  }

  write(fd: number, entries: Iterable<Entry>, added: readonly Entry[]): void {
    const writer = new LineWriter(fd);
    for (const entry of entries) writer.write(entryLine(entry));
    for (const entry of added) writer.write(JSON.stringify(entry));
    writer.end();
  }
}
