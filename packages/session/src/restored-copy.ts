import type { Entry, SessionHeader } from "./entry.ts";
import { EntryHead, parseLine } from "./read/entry-head.ts";
import { gluedEntries } from "./read/glued-entries.ts";
import { entryLine } from "./read/sound-entry.ts";
import { forEachLine, type Line } from "./store/line-reader.ts";
import { LineWriter } from "./store/line-writer.ts";
import type { SessionStore } from "./store/store.ts";

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
  /** Follows the entries if another entry comes last. */
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
  const written = new Set<string | null>();
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
  if (lastId !== session.lastId) writer.write(entryLine(leafRecord));
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
    const glued = gluedEntries(line, { kind, head, store });
    if (glued !== undefined) glued.forEach(visitLine);
    else if (kind === "entry" && !head.torn && parseLine(line, store) !== undefined)
      visit(line, { id: head.id, parentId: head.parentId ?? null });
  };
  forEachLine({ store, from: 0, until: store.size(), visit: visitLine });
}
