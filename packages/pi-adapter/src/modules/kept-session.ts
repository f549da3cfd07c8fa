import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  createSession,
  type Entry,
  type EntryDraftWithId,
  JsonlStore,
  MemoryStore,
  openSession,
  type Session,
  type SessionHeader,
  type SessionStore,
} from "@bonsai-agent/session";
import { contextInUse } from "../models/requests.ts";
import { uuidv7 } from "./sessions.ts";

export interface NewSessionOptions {
  /** Letters, digits, `-`, `_` and `.`, the first and the last a letter or a digit. Default: a UUID, version 7. */
  id?: string | undefined;
  /** Path of the file that it comes from. */
  parentSession?: string | undefined;
}

interface Place {
  cwd: string;
  /** Where files of it are kept; undefined for a session in memory. */
  folder?: string | undefined;
}

/** Files that nobody appends to any more are closed: pi has no call for that. */
const forgotten = new FinalizationRegistry<Session>((session) => session.close());

/**
 * A session that an extension works on beside the one that is worked in. Owner of where its lines are: in memory until
 * something is appended to a file that is there, or until an answer makes a new session worth a file, as in pi.
 */
export class KeptSession {
  readonly cwd: string;
  readonly folder: string | undefined;
  #session!: Session;
  /** Where it is kept, or will be. */
  #file: string | undefined;
  /** True where the session is a copy in memory of a file that is there. */
  #isCopy = false;

  private constructor({ cwd, folder }: Place) {
    this.cwd = resolve(cwd);
    this.folder = folder;
  }

  /** @param entries what it holds; a header among them is its own. @throws BonsaiError `pi_session_id_invalid` */
  static start(place: Place, options?: NewSessionOptions, entries: readonly object[] = []): KeptSession {
    const kept = new KeptSession(place);
    kept.start(options, entries);
    return kept;
  }

  /** As it is in this moment; a path without a file is where a new session will be. @throws what `openSession` throws */
  static open(path: string, place: Partial<Place> = {}): KeptSession {
    const file = resolve(path);
    const kept = new KeptSession({
      cwd: place.cwd ?? headerCwd(file) ?? process.cwd(),
      folder: place.folder ?? dirname(file),
    });
    kept.open(file);
    return kept;
  }

  get session(): Session {
    return this.#session;
  }

  get file(): string | undefined {
    return this.#file;
  }

  start({ id = uuidv7(), parentSession }: NewSessionOptions = {}, entries: readonly object[] = []): void {
    checkId(id);
    const origin = parentSession === undefined ? {} : { parentSession };
    const empty = createSession({ cwd: this.cwd, id, ...origin });
    const session = entries.length === 0 ? empty : holding(empty.header, entries);
    this.#goOnWith(session, this.#newFile(session.header));
  }

  open(path: string): void {
    const file = resolve(path);
    if (!existsSync(file)) {
      this.start();
      this.#file = file;
    } else if (statSync(file).size === 0) {
      const session = createSession({ store: JsonlStore.open(file), cwd: this.cwd, id: uuidv7() });
      this.#goOnWith(session, file);
    } else {
      const stored = openSession(file);
      this.#goOnWith(openSession({ store: copied(stored.store) }), stored.file);
      this.#isCopy = true;
      stored.close();
    }
  }

  /** @throws BonsaiError `pi_session_in_use`, and what `Session.append` throws */
  append(draft: EntryDraftWithId): Entry {
    const entry = this.#forWriting((session, under) => session.append(draft, { under }));
    if (isAnswer(entry)) this.#keep();
    return entry;
  }

  /**
   * Goes on in a new session that has the path to an entry, and behind it the labels of its entries. @throws what `Session.path` throws
   */
  branch(leafId: string): void {
    const { session } = this;
    const path = withoutLabels(session.path(leafId));
    const labels = labelsOf(path, session);
    this.start({ parentSession: this.#file }, [...path, ...labels]);
    if (path.some(isAnswer)) this.#keep();
  }

  /** The session for an agent that appends to it. @throws BonsaiError `pi_session_in_use` */
  forAgent(): Session {
    if (this.#isCopy) this.#forWriting(() => {});
    else this.#keep();
    return this.#session;
  }

  /** Reads the file again: an agent closed its session. */
  readAgain(): void {
    const { leafId } = this.#session;
    if (this.#file === undefined) return;
    this.open(this.#file);
    if (leafId !== null && this.#session.entry(leafId) !== undefined) this.#session.moveTo(leafId);
  }

  #forWriting<Result>(write: (session: Session, under: string | null) => Result): Result {
    const { leafId } = this.#session;
    if (!this.#isCopy) return write(this.#session, leafId);
    const file = this.#file!;
    refuseInUse(file);
    const session = openSession(file);
    const result = write(session, session.entry(leafId ?? "") === undefined ? session.leafId : leafId);
    this.#goOnWith(session, session.file);
    return result;
  }

  /** Writes what is in memory only to its file. */
  #keep(): void {
    const file = this.#file;
    if (file === undefined || this.#session.file !== undefined) return;
    JsonlStore.create(file, textOf(this.#session.store)).close();
    this.#goOnWith(openSession(file), file);
  }

  #goOnWith(session: Session, file: string | undefined): void {
    forgotten.unregister(this);
    if (this.#session?.file !== undefined) this.#session.close();
    if (session.file !== undefined) forgotten.register(this, session, this);
    this.#session = session;
    this.#file = file;
    this.#isCopy = false;
  }

  #newFile({ id, timestamp }: SessionHeader): string | undefined {
    const { folder } = this;
    const name = `${new Date(timestamp).toISOString().replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
    return folder === undefined ? undefined : join(folder, name);
  }
}

/** A session in memory that holds entries as they are. */
function holding(header: SessionHeader, entries: readonly object[]): Session {
  const hasHeader = (entries[0] as { type?: unknown }).type === "session";
  const lines = (hasHeader ? entries : [header, ...entries]).map((each) => `${JSON.stringify(each)}\n`);
  return openSession({ store: new MemoryStore(lines.join("")) });
}

/** What hung below a label hangs where that hung. */
function withoutLabels(path: readonly Entry[]): Entry[] {
  let parentId: string | null = null;
  return path.flatMap((entry) => {
    if (entry.type === "label") return [];
    const moved = { ...entry, parentId };
    parentId = entry.id;
    return [moved];
  });
}

/** The labels that stand on the entries of a path, one below the other behind it, from when they were given. */
function labelsOf(path: readonly Entry[], session: Session): Entry[] {
  const standing = session.labels();
  const latest = new Map(
    session.entries().flatMap((entry) => (entry.type === "label" ? [[entry.targetId, entry] as const] : [])),
  );
  let parentId = path.at(-1)?.id ?? null;
  return path.flatMap(({ id }) => {
    const entry = latest.get(id);
    if (entry === undefined || !standing.has(id)) return [];
    const moved = { ...entry, id: session.newId(), parentId };
    parentId = moved.id;
    return [moved];
  });
}

function headerCwd(file: string): string | undefined {
  if (!existsSync(file) || statSync(file).size === 0) return undefined;
  const session = openSession(file);
  session.close();
  return session.cwd || undefined;
}

function copied(store: SessionStore): MemoryStore {
  return new MemoryStore(bytesOf(store));
}

function textOf(store: SessionStore): string {
  return bytesOf(store).toString();
}

function bytesOf(store: SessionStore): Buffer {
  const bytes = Buffer.allocUnsafe(store.size());
  return bytes.subarray(0, store.read(bytes, 0));
}

function isAnswer(entry: Entry): boolean {
  return entry.type === "message" && entry.message?.role === "assistant";
}

function checkId(id: string): void {
  if (/^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?$/.test(id)) return;
  throw new BonsaiError({
    code: "pi_session_id_invalid",
    message: `"${id}" is not a valid session id.`,
    hint: 'Use only letters, digits and the characters "-", "_" and ".". Start and end with a letter or a digit. Or omit the id.',
  });
}

/** Two who append to one session grow a branch each. */
function refuseInUse(file: string): void {
  const inUse = contextInUse()?.sessionManager.getSessionFile();
  if (inUse === undefined || resolve(inUse) !== file) return;
  throw new BonsaiError({
    code: "pi_session_in_use",
    message: `${file} is the open session. Only the agent can append to it.`,
    hint: "Use appendEntry, sendMessage, setLabel or setSessionName of the API object.",
  });
}
