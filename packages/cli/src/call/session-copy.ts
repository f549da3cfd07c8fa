import {
  createSession,
  type Entry,
  type EntryDraftWithId,
  MemoryStore,
  openSession,
  SESSION_VERSION,
  type Session,
  type SessionStore,
} from "@bonsai-agent/session";

/** A session for trying out what must not be written, with the ids of the one that it stands for. */
interface TrialCopy {
  session: Session;
  /** What was appended, oldest first. */
  added(): Entry[];
}

/** Stands at an entry of the given session. It reads what that one is stored in, and keeps in memory what is appended. */
export function trialCopy(session: Session, leafId: string | null): TrialCopy {
  const isOld = (session.header.version ?? 1) < SESSION_VERSION;
  const copy =
    isOld || session.readOnly !== undefined ? pathInMemory(session, leafId) : laidOver(session, leafId);
  const before = copy.index().count;
  return {
    session: copy,
    added: () => Array.from(copy.index().records(before), ({ number }) => copy.entryAt(number)!),
  };
}

function laidOver(session: Session, leafId: string | null): Session {
  const copy = openSession({ store: new OverlayStore(session.store) });
  if (copy.leafId !== leafId) copy.moveTo(leafId);
  return copy;
}

/** So many entries are appended at once. */
const BATCH_ENTRIES = 512;

/** A session in memory that holds the path to an entry, with the same ids: also of one that is old or refuses appends. */
export function pathInMemory(session: Session, leafId: string | null): Session {
  const copy = createSession({ cwd: session.cwd, id: session.id });
  const path = session.path(leafId);
  for (let at = 0; at < path.length; at += BATCH_ENTRIES)
    copy.append(path.slice(at, at + BATCH_ENTRIES).map(draftOf));
  return copy;
}

/** What an entry holds apart from its place. */
export function draftOf({ parentId: _parentId, timestamp: _timestamp, ...draft }: Entry): EntryDraftWithId {
  return draft as EntryDraftWithId;
}

/**
 * A store over another one, which it only reads. Appended text stays in memory, to try changes without writing them.
 * It does not see later changes to the other store.
 */
export class OverlayStore implements SessionStore {
  readonly file = undefined;
  readonly readOnly = undefined;
  readonly #base: SessionStore;
  readonly #baseBytes: number;
  readonly #added = new MemoryStore();

  constructor(base: SessionStore) {
    this.#base = base;
    this.#baseBytes = base.size();
  }

  size(): number {
    return this.#baseBytes + this.#added.size();
  }

  read(target: Uint8Array, offset: number): number {
    const inBase = Math.max(0, Math.min(target.length, this.#baseBytes - offset));
    const done = inBase === 0 ? 0 : this.#base.read(target.subarray(0, inBase), offset);
    if (done < inBase || done === target.length) return done;
    return done + this.#added.read(target.subarray(done), offset + done - this.#baseBytes);
  }

  append(text: string): number {
    return this.#added.append(text);
  }

  flush(): void {}

  close(): void {}
}
