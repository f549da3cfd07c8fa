import type { Entry, Session } from "@bonsai-agent/session";
import { ownCopy } from "./own-copy.ts";

/** The latest branch that was read of a session, as long as memory is not needed for something else. */
const latest = new WeakMap<Session, WeakRef<readonly Entry[]>>();

/**
 * Copies of the entries from a root to the leaf, oldest first. A long session's branch stands in its file, so that what
 * was read of it before is read again only when nobody holds it any more.
 */
export function branchCopies(session: Session): Entry[] {
  const known = latest.get(session)?.deref() ?? [];
  const branch = grown(session, known) ?? session.path().map(ownCopy);
  latest.set(session, new WeakRef(branch));
  return [...branch];
}

/** A branch that has grown by more is read as a whole. */
const MOST_STEPS = 1_000;

/** The branch with what came since; undefined where the leaf is no descendant of its end, or a far one. */
function grown(session: Session, known: readonly Entry[]): readonly Entry[] | undefined {
  const end = known.at(-1)?.id;
  if (end === undefined) return undefined;
  const later: Entry[] = [];
  for (let id = session.leafId; id !== end; ) {
    const entry = id === null || later.length === MOST_STEPS ? undefined : session.entry(id);
    if (entry === undefined) return undefined;
    later.push(ownCopy(entry));
    id = entry.parentId;
  }
  return later.length === 0 ? known : [...known, ...later.reverse()];
}
