import { createSession, type EntryDraft, type Session } from "@bonsai-agent/session";

/** A session in memory that stands where the given one does, with the same ids: for trying out what must not be written. */
export function rehearsal(session: Session, leafId: string | null): Session {
  const copy = createSession({ cwd: session.cwd, id: session.id });
  copy.append(
    session.path(leafId).map(({ parentId, timestamp, ...draft }) => draft as EntryDraft & { id: string }),
  );
  return copy;
}
