import { join, resolve } from "node:path";
import { type Entry, type EntryDraft, SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { LEAF_RECORD } from "./own-entries.ts";
import type { EntryIndex } from "./read/entry-index.ts";
import { entryNotFound } from "./read/session-reader.ts";
import { entryLine } from "./read/sound-entry.ts";
import type { Session } from "./session.ts";
import { JsonlStore } from "./store/jsonl-store.ts";
import { LineWriter, newSessionFile, randomHex, sessionFileName, writeNewFile } from "./store/new-file.ts";

interface CloneOptions {
  /** Path of the new file. Default: a new name in the folder. */
  file?: string;
  /** Folder for the new file. Default: the session's own among `home`'s. */
  folder?: string;
  /** Default: `bonsaiHome()`. */
  home?: string;
  /** Working directory of the new session. Default: the origin's. */
  cwd?: string;
  /** Id of the new session. Default: a random UUID. */
  id?: string;
  /** The origin in the new session's header. Default: the path of the origin's file */
  parentSession?: string;
  /** Default: the present. */
  now?: Date;
}

interface ForkOptions extends CloneOptions {
  /** The last entry to copy; null for none. Default: the origin's leaf. */
  at?: string | null;
}

/**
 * Copies the path to one entry into a new session file. Entries keep their ids and every field. The labels of copied
 * entries and the session's name are copied from every branch.
 * @returns the absolute path of the new file
 * @throws BonsaiError `entry_not_found`, `session_exists`, `session_not_created`
 */
export function forkSession(session: Session, options: ForkOptions = {}): string {
  const at = options.at === undefined ? session.leafId : options.at;
  if (at !== null && session.entry(at) === undefined) entryNotFound(at);
  const index = session.index();
  const numbers = pathTo(session, at);
  const ids = new Set(numbers.map((number) => index.id(number)));
  const now = options.now ?? new Date();
  return copySession(session, { ...options, now }, numbers, carriedMetadata(session, { ids, end: at, now }));
}

/**
 * Copies all entries of all branches into a new session file.
 * @returns the absolute path of the new file
 * @throws BonsaiError `session_exists`, `session_not_created`
 */
export function cloneSession(session: Session, options: CloneOptions = {}): string {
  return copySession(session, options, new Array(session.index().count).keys());
}

/** Numbers of the records from a root to an entry; none for null. */
function pathTo(session: Session, at: string | null): number[] {
  const index = session.index();
  let number = at === null ? -1 : index.find(at);
  while (number >= 0 && session.entryAt(number) === undefined) number = index.earlierOfSameId(number);
  return index.ancestry(number);
}

/**
 * Writes records of a session, and entries after them, to a new file. Lines are copied byte for byte if the file is of
 * today's version and sound. Otherwise the entries are written as they were read: migrated and repaired.
 */
function copySession(
  session: Session,
  options: CloneOptions,
  numbers: Iterable<number>,
  added: readonly Entry[] = [],
): string {
  const isToday = (session.header.version ?? 1) >= SESSION_VERSION;
  const canCopy = session.file !== undefined && isToday && isSound(session.index());
  const lines = canCopy ? JsonlStore.open(session.file!) : undefined;
  try {
    const header = copyHeader(session, options);
    const file = copyFile(header, options);
    writeNewFile(file, (fd) => {
      const writer = new LineWriter(fd, lines);
      writer.write(JSON.stringify(header));
      if (lines !== undefined) for (const number of numbers) writer.copy(session.index().record(number));
      else for (const { entry } of session.entriesAt(numbers)) writer.write(entryLine(entry));
      for (const entry of added) writer.write(JSON.stringify(entry));
      writer.end();
    });
    return file;
  } finally {
    lines?.close();
  }
}

/** Every entry has an id and a body, and the parent that its line names. */
function isSound(index: EntryIndex): boolean {
  if (index.invalidParents().length > 0 || index.unnamed().length > 0) return false;
  for (let number = 0; number < index.count; number++) if (index.isDamaged(number)) return false;
  return true;
}

function copyHeader(session: Session, options: CloneOptions): SessionHeader {
  const { header, file } = session;
  const { now = new Date(), id = crypto.randomUUID(), cwd = header.cwd } = options;
  const parentSession = options.parentSession ?? (file && resolve(file));
  const origin = parentSession === undefined ? {} : { parentSession };
  // Lines of a future version are copied as they are, so the copy is of that version too.
  const version = Math.max(SESSION_VERSION, header.version ?? 1);
  return { type: "session", version, id, timestamp: now.toISOString(), cwd, ...origin };
}

function copyFile({ id, cwd, timestamp }: SessionHeader, { file, folder, home }: CloneOptions): string {
  const now = new Date(timestamp);
  if (file !== undefined) return resolve(file);
  if (folder !== undefined) return join(resolve(folder), sessionFileName({ id, now }));
  return newSessionFile({ id, cwd, now, home });
}

/**
 * The entries after a fork's path that give its labels and name the same values as in the origin, where other branches or
 * later entries set them. They end with a record that the leaf is the path's end.
 */
function carriedMetadata(
  session: Session,
  { ids, end, now }: { ids: Set<string>; end: string | null; now: Date },
): Entry[] {
  const index = session.index();
  const numbers = [...index.numbersOf("label"), ...index.numbersOf("session_info")];
  const inPath = numbers.filter((number) => ids.has(index.id(number))).sort((a, b) => a - b);
  const labels = new Map<string, string | undefined>();
  let name: string | undefined;
  for (const { entry } of session.entriesAt(inPath)) {
    if (entry.type === "label") labels.set(entry.targetId, entry.label || undefined);
    if (entry.type === "session_info") name = entry.name || undefined;
  }
  const drafts: EntryDraft[] = [];
  for (const targetId of new Set([...labels.keys(), ...session.labels().keys()])) {
    const label = session.label(targetId);
    if (ids.has(targetId) && labels.get(targetId) !== label)
      drafts.push({ type: "label", targetId, ...(label !== undefined && { label }) });
  }
  if (name !== session.name)
    drafts.push({ type: "session_info", ...(session.name !== undefined && { name: session.name }) });
  if (drafts.length === 0) return [];
  const timestamp = now.toISOString();
  let parentId = end;
  const chain = drafts.map((draft): Entry => {
    const entry = { ...draft, id: newId(ids), parentId, timestamp };
    parentId = entry.id;
    return entry;
  });
  return [...chain, { ...LEAF_RECORD, id: newId(ids), parentId: end, timestamp }];
}

function newId(taken: Set<string>): string {
  let id: string;
  do id = randomHex(4);
  while (taken.has(id));
  taken.add(id);
  return id;
}
