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

/** A copy at an entry, to try changes without writing them. It has the same ids, and keeps appended entries in memory. */
export function trialCopy(session: Session, leafId: string | null): Session {
  const isOld = (session.header.version ?? 1) < SESSION_VERSION;
  return isOld || session.readOnly !== undefined ? pathInMemory(session, leafId) : laidOver(session, leafId);
}

function laidOver(session: Session, leafId: string | null): Session {
  const copy = openSession({ store: new OverlayStore(session.store) });
  if (copy.leafId !== leafId) copy.moveTo(leafId);
  return copy;
}

const BATCH_ENTRIES = 512;

/** A copy of the path to an entry in memory, with the same ids. */
export function pathInMemory(session: Session, leafId: string | null): Session {
  const copy = createSession({ cwd: session.cwd, id: session.id });
  const path = session.path(leafId);
  for (let at = 0; at < path.length; at += BATCH_ENTRIES)
    copy.append(path.slice(at, at + BATCH_ENTRIES).map(draftOf));
  return copy;
}

function draftOf({ parentId: _parentId, timestamp: _timestamp, ...draft }: Entry): EntryDraftWithId {
  return draft as EntryDraftWithId;
}

/** Reads another store and appends in memory. Does not see later changes of the other store. */
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
