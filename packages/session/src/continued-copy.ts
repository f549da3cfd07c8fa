import { existsSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import { type Entry, SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { EntryHead, parseLine } from "./read/entry-head.ts";
import { gluedEntries } from "./read/glued-entries.ts";
import { readHeader } from "./read/session-header.ts";
import { SessionReader } from "./read/session-reader.ts";
import { entryLine } from "./read/sound-entry.ts";
import { JsonlStore } from "./store/jsonl-store.ts";
import { forEachLine, type Line } from "./store/line-reader.ts";
import { LineWriter, writeFirstFree } from "./store/new-file.ts";
import { MemoryStore, type SessionStore } from "./store/store.ts";

// The copies in which a session continues: of an old version, and of a file that was cut off while it was open.

/** A session in today's version. */
interface Copy {
  header: SessionHeader;
  store: SessionStore;
}

/** The session of an old version, and what reads it. */
interface OldSession {
  header: SessionHeader;
  reader: SessionReader;
}

/** The copy in which a session of an old version continues: that of an earlier run, or a new one. @throws as `migratedCopy` */
export function continuedCopy(source: OldSession): Copy & { isEarlier: boolean } {
  const earlier = earlierCopy(source);
  return { ...(earlier ?? migratedCopy(source)), isEarlier: earlier !== undefined };
}

/** The copy that an earlier run made: the session continues there. Damaged copies do not count. */
export function earlierCopy(source: OldSession): Copy | undefined {
  const original = source.reader.store.file;
  if (original === undefined) return undefined;
  for (let number = 1; existsSync(copyName(original, number)); number += 1) {
    const copy = copyOf(copyName(original, number), source.reader);
    if (copy !== undefined) return copy;
  }
  return undefined;
}

/** The session in the file, if it is a sound copy with all entries of the original. */
function copyOf(file: string, original: SessionReader): Copy | undefined {
  let store: SessionStore | undefined;
  try {
    store = JsonlStore.open(file);
    const { header, version, damage, invalidFields } = readHeader(store);
    const isOurs = header.parentSession === original.store.file && version === SESSION_VERSION;
    const isSound = damage === undefined && invalidFields.length === 0 && store.readOnly === undefined;
    if (isOurs && isSound && holdsAll(store, original)) return { header, store };
  } catch (error) {
    // An unreadable file is no copy.
    if (!BonsaiError.is(error)) throw error;
  }
  store?.close();
  return undefined;
}

function holdsAll(store: SessionStore, original: SessionReader): boolean {
  const copy = new SessionReader({ store, version: SESSION_VERSION });
  const index = copy.index();
  if (index.damagedLines().length > 0 || index.invalidParents().length > 0) return false;
  return Array.from(original.index().records()).every(({ id }) => index.find(id) >= 0);
}

/**
 * Writes a copy of an old session in today's version, beside the original. The copy gets its name once it is complete, and
 * replaces no file.
 * @throws BonsaiError `session_not_created`.
 */
function migratedCopy({ header: old, reader }: OldSession): Copy {
  const original = reader.store.file;
  const header: SessionHeader = {
    ...old,
    version: SESSION_VERSION,
    id: crypto.randomUUID(),
    ...(original !== undefined && { parentSession: original }),
  };
  if (original === undefined) {
    const store = new MemoryStore(`${JSON.stringify(header)}\n`);
    for (const { entry } of reader.scan()) store.append(`${entryLine(entry)}\n`);
    return { header, store };
  }
  // The first free name: `x.v3.jsonl`, `x.v3-2.jsonl`, …
  const nameOf = (number: number) => copyName(original, number);
  const file = writeFirstFree(nameOf, (fd) => {
    const writer = new LineWriter(fd);
    writer.write(JSON.stringify(header));
    for (const { entry } of reader.scan()) writer.write(entryLine(entry));
    writer.end();
  });
  return { header, store: JsonlStore.open(file) };
}

function copyName(original: string, number: number): string {
  const stem = original.replace(/\.jsonl$/, "");
  return `${stem}.v${SESSION_VERSION}${number === 1 ? "" : `-${number}`}.jsonl`;
}

/** A session whose file was cut off, replaced or deleted while it was open. */
interface DamagedSession {
  store: SessionStore;
  header: SessionHeader;
  /** The entries of the current path that are in memory. */
  held: readonly Entry[];
  /** The entries that this session appended last, oldest first. */
  own: readonly Entry[];
  /** The id of the entry that must come last; null for none. */
  lastId: string | null;
  /** Follows the entries if another entry comes last, and the leaf is among them. */
  leafRecord: Entry;
}

/** Writes a session to a new file: the whole entries that the open file still has, and those that only memory has. */
export function writeRestoredCopy(fd: number, session: DamagedSession): void {
  const { store, header, held, own, leafRecord } = session;
  const ownIds = new Set(own.map(({ id }) => id));
  const entries = [...held.filter(({ id }) => !ownIds.has(id)), ...own];
  const writer = new LineWriter(fd, store);
  const inMemory = new Set(entries.map(({ id }) => id));
  const unwritten = entries.values();
  const written = new Set<string | null>([null]);
  let lastId: string | null = null;
  const writeNext = (): boolean => {
    const { value: entry } = unwritten.next();
    if (entry !== undefined && !written.has(entry.id)) {
      writer.write(entryLine(entry));
      written.add(entry.id);
      lastId = entry.id;
    }
    return entry !== undefined;
  };
  writer.write(JSON.stringify(header));
  forEachOwnEntry({ store, header }, (line, { id, parentId }) => {
    // Parents first: an entry that was appended after the loss has its parent in memory only.
    if (inMemory.has(parentId ?? "")) while (!written.has(parentId) && writeNext());
    if (written.has(id)) return;
    writer.copy({ ...line, line: line.number });
    written.add(id);
    lastId = id;
  });
  while (writeNext());
  if (lastId !== session.lastId && written.has(leafRecord.parentId)) writer.write(entryLine(leafRecord));
  writer.end();
}

interface Place {
  id: string;
  parentId: string | null;
}

/** Visits the whole entries of a store. Skips the entries of another session that was written over this one. */
function forEachOwnEntry(
  { store, header }: Pick<DamagedSession, "store" | "header">,
  visit: (line: Line, place: Place) => void,
): void {
  const head = new EntryHead();
  let isOwn = true;
  const visitLine = (line: Line) => {
    const kind = head.read(line, store);
    if (kind === "header") isOwn = (parseLine(line, store) as { id?: unknown }).id === header.id;
    if (!isOwn) return;
    const glued = head.isSuspect(line, kind) ? gluedEntries(line, store) : undefined;
    if (glued !== undefined) glued.forEach(visitLine);
    else if (kind === "entry" && !head.isCutOff && parseLine(line, store) !== undefined)
      visit(line, { id: head.id, parentId: head.parentId ?? null });
  };
  forEachLine({ store, from: 0, until: store.size(), visit: visitLine });
}
