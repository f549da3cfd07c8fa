import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Entry, type EntryDraft, SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { LEAF_RECORD } from "./own-entries.ts";
import type { EntryIndex } from "./read/entry-index.ts";
import { entryNotFound } from "./read/session-reader.ts";
import { entryLine } from "./read/sound-entry.ts";
import type { Session } from "./session.ts";
import { JsonlStore } from "./store/jsonl-store.ts";
import { LineWriter } from "./store/line-writer.ts";
import { randomHex, writeNewFile } from "./store/new-file.ts";
import { newSessionFile, sessionFileName } from "./store/session-folder.ts";

export interface CloneOptions {
  /** Path of the new file. Without it, a name of the usual form is chosen. */
  file?: string;
  /** Folder for the new file. Default: the session's own among `home`'s. */
  folder?: string;
  /** Default: `bonsaiHome()`. */
  home?: string;
  /** Working directory of the new session. Default: the origin's. */
  cwd?: string;
  /** Id of the new session. Default: a random UUID. */
  id?: string;
  /** Default: the present. */
  now?: Date;
}

export interface ForkOptions extends CloneOptions {
  /** The last entry to be copied; null for none. Default: the origin's leaf. */
  at?: string | null;
}

/**
 * Copies the path to one entry into a new session file. Entries keep their ids and every field; labels of
 * copied entries and the session's name come along, wherever they stand in the origin.
 * @returns the absolute path of the new file
 * @throws BonsaiError `entry_not_found`, `session_exists`, `session_not_created`
 */
export function forkSession(session: Session, options: ForkOptions = {}): string {
  const at = options.at === undefined ? session.leafId : options.at;
  if (at !== null && session.entry(at) === undefined) entryNotFound(at);
  const now = options.now ?? new Date();
  return copied(session, { ...options, now }, (origin) => {
    const path = origin.path(at);
    const ids = new Set(path.map((number) => origin.id(number)));
    return { numbers: path, added: carriedMetadata({ ids, end: at, metadata: origin.metadata(), now }) };
  });
}

/**
 * Copies all entries of all branches into a new session file.
 * @returns the absolute path of the new file
 * @throws BonsaiError `session_exists`, `session_not_created`
 */
export function cloneSession(session: Session, options: CloneOptions = {}): string {
  return copied(session, options, (origin) => ({ numbers: origin.all(), added: [] }));
}

/** The content of a copy: records of the origin, and entries that follow them. */
interface Content {
  numbers: readonly number[];
  added: readonly Entry[];
}

function copied(session: Session, options: CloneOptions, choose: (origin: Origin) => Content): string {
  const origin = new Origin(session);
  try {
    const content = choose(origin);
    const header = copyHeader(session, options);
    const file = copyFile(header, options);
    writeNewFile(file, (fd) => {
      writeFileSync(fd, `${JSON.stringify(header)}\n`);
      origin.write(fd, content);
    });
    return file;
  } finally {
    origin.close();
  }
}

function copyHeader(session: Session, options: CloneOptions): SessionHeader {
  const { header, file } = session;
  const { now = new Date(), id = crypto.randomUUID(), cwd = header.cwd } = options;
  const origin = file === undefined ? {} : { parentSession: resolve(file) };
  // Lines of a future version are copied as they are, so the copy is of that version too.
  const version = Math.max(SESSION_VERSION, header.version ?? 1);
  return { type: "session", version, id, timestamp: now.toISOString(), cwd, ...origin };
}

function copyFile({ id, cwd, timestamp }: SessionHeader, { file, folder, home }: CloneOptions): string {
  const now = new Date(timestamp);
  if (file !== undefined) return resolve(file);
  if (folder !== undefined) return join(resolve(folder), sessionFileName({ id, now }));
  return newSessionFile({ id, cwd, now, ...(home === undefined ? {} : { home }) });
}

interface CopiedPath {
  /** Ids of the copied entries. */
  ids: Set<string>;
  /** The last of them. */
  end: string | null;
  /** Labels and names of the whole origin, in file order. */
  metadata: readonly Entry[];
  now: Date;
}

/**
 * The entries that a fork needs after its copied path, so that labels and name are what they were in the
 * origin: those that were set on other branches, or changed later. The leaf stays where the path ends.
 */
function carriedMetadata({ ids, end, metadata, now }: CopiedPath): Entry[] {
  const wanted = state(metadata);
  const copied = state(metadata.filter(({ id }) => ids.has(id)));
  const drafts: EntryDraft[] = [];
  for (const [targetId, label] of wanted.labels) {
    if (!ids.has(targetId) || copied.labels.get(targetId) === label) continue;
    drafts.push({ type: "label", targetId, ...(label === undefined ? {} : { label }) });
  }
  if (wanted.name !== copied.name) {
    drafts.push({ type: "session_info", ...(wanted.name === undefined ? {} : { name: wanted.name }) });
  }
  return chained(drafts, { end, timestamp: now.toISOString(), taken: ids });
}

interface MetadataState {
  labels: Map<string, string | undefined>;
  name: string | undefined;
}

function state(entries: readonly Entry[]): MetadataState {
  const found: MetadataState = { labels: new Map(), name: undefined };
  for (const entry of entries) {
    if (entry.type === "label") found.labels.set(entry.targetId, entry.label);
    if (entry.type === "session_info") found.name = entry.name;
  }
  return found;
}

/** One chain below the path, and a record that the leaf is still the path's end. */
function chained(
  drafts: readonly EntryDraft[],
  { end, timestamp, taken }: { end: string | null; timestamp: string; taken: Set<string> },
): Entry[] {
  if (drafts.length === 0) return [];
  let parentId = end;
  const entries = drafts.map((draft) => {
    const entry = { ...draft, id: newId(taken), parentId, timestamp };
    parentId = entry.id;
    return entry;
  });
  return [...entries, { ...LEAF_RECORD, id: newId(taken), parentId: end, timestamp }];
}

function newId(taken: Set<string>): string {
  let id: string;
  do id = randomHex(4);
  while (taken.has(id));
  taken.add(id);
  return id;
}

/**
 * A session's entries as something to copy. Of a file of today's version whose entries hang where they say, stored lines
 * are copied byte for byte and none is parsed; else entries as reading understood them: old versions migrated, damages
 * bridged, sessions in memory.
 */
class Origin {
  readonly #session: Session;
  readonly #index: EntryIndex;
  /** The store from which lines are copied byte for byte. */
  readonly #lines: JsonlStore | undefined;

  constructor(session: Session) {
    this.#session = session;
    this.#index = session.index();
    const isToday = (session.header.version ?? 1) >= SESSION_VERSION;
    if (session.file !== undefined && isToday && isSound(this.#index))
      this.#lines = JsonlStore.open(session.file);
  }

  /** From a root to this entry; none for null. */
  path(at: string | null): number[] {
    if (at === null) return [];
    let number = this.#index.find(at);
    while (number >= 0 && this.#session.entryAt(number) === undefined)
      number = this.#index.earlierOfSameId(number);
    return this.#index.ancestry(number);
  }

  /** All entries, in file order. */
  all(): number[] {
    return Array.from({ length: this.#index.count }, (_, number) => number);
  }

  id(number: number): string {
    return this.#index.id(number);
  }

  /** Labels and names of all branches, in file order. */
  metadata(): Entry[] {
    const numbers = [...this.#index.numbersOf("label"), ...this.#index.numbersOf("session_info")];
    return numbers.sort((a, b) => a - b).flatMap((number) => this.#session.entryAt(number) ?? []);
  }

  write(fd: number, { numbers, added }: Content): void {
    const writer = new LineWriter(fd, this.#lines);
    for (const number of numbers) this.#writeOne(number, writer);
    for (const entry of added) writer.write(JSON.stringify(entry));
    writer.end();
  }

  #writeOne(number: number, writer: LineWriter): void {
    if (this.#lines !== undefined) {
      writer.copy(this.#index.record(number));
      return;
    }
    const entry = this.#session.entryAt(number);
    if (entry !== undefined) writer.write(entryLine(entry));
  }

  close(): void {
    this.#lines?.close();
  }
}

/** Every entry has an id and a body, and hangs on the parent that its line names. */
function isSound(index: EntryIndex): boolean {
  if (index.strays().length > 0 || index.unnamed().length > 0) return false;
  for (let number = 0; number < index.count; number++) if (index.isDamaged(number)) return false;
  return true;
}
