import { existsSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import { SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { readHeader } from "./read/session-header.ts";
import { SessionReader } from "./read/session-reader.ts";
import { entryLine } from "./read/sound-entry.ts";
import { JsonlStore } from "./store/jsonl-store.ts";
import { LineWriter } from "./store/line-writer.ts";
import { writeFirstFree } from "./store/new-file.ts";
import { MemoryStore, type SessionStore } from "./store/store.ts";

/** A session in today's version. */
interface Copy {
  header: SessionHeader;
  store: SessionStore;
}

/** The copy that an earlier run made: opening the original again goes on there. Damaged copies do not count. */
export function earlierCopy(source: { header: SessionHeader; reader: SessionReader }): Copy | undefined {
  const original = source.reader.store.file;
  if (original === undefined) return undefined;
  for (let number = 1; existsSync(copyName(original, number)); number += 1) {
    const copy = copyOf(copyName(original, number), source.reader);
    if (copy !== undefined) return copy;
  }
  return undefined;
}

/** The session in the file, if it is a sound copy of all that the original holds. */
function copyOf(file: string, original: SessionReader): Copy | undefined {
  let store: SessionStore | undefined;
  try {
    store = JsonlStore.open(file);
    const { header, version, damage, odd } = readHeader(store);
    const isOurs = header.parentSession === original.store.file && version === SESSION_VERSION;
    const isSound = damage === undefined && odd.length === 0 && store.readOnly === undefined;
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
  if (index.damagedLines().length > 0 || index.strays().length > 0) return false;
  return Array.from(original.index().records()).every(({ id }) => index.find(id) >= 0);
}

/**
 * Writes a copy of an old session in today's version, beside the original, which stays as it is. The copy
 * appears under its name only once it is complete, and replaces nothing.
 * @throws BonsaiError `session_not_created`.
 */
export function migratedCopy({
  header: old,
  reader,
}: {
  header: SessionHeader;
  reader: SessionReader;
}): Copy {
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
