import { createSession, type EntryDraftWithId, type Session } from "@bonsai-agent/session";

/** A session in memory that stands at an entry of the given one, with the same ids: for trying out what must not be written. */
export function rehearsal(session: Session, leafId: string | null): Session {
  const copy = createSession({ cwd: session.cwd, id: session.id });
  copy.append(
    session
      .path(leafId)
      .map(({ parentId: _parentId, timestamp: _timestamp, ...draft }) => draft as EntryDraftWithId),
  );
  return copy;
}
