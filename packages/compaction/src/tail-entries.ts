import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";

/**
 * The entries of a path from its leaf back to where the model's view of it begins, newest first: what an open
 * session has in memory, so that looking at it reads nothing.
 */
export function* tailEntries(
  session: Session,
  leafId: string | null,
  compaction: CompactionEntry | undefined,
): Generator<Entry> {
  // A damaged file may hold a cycle: from time to time an id is marked, and coming back to it ends the walk.
  let marked: string | undefined;
  let markAt = 64;
  let steps = 0;
  for (let id = leafId; id !== null && id !== marked; ) {
    steps += 1;
    if (steps === markAt) [marked, markAt] = [id, markAt * 2];
    const entry = session.entry(id);
    if (entry === undefined) return;
    yield entry;
    if (id === compaction?.firstKeptEntryId) return;
    id = entry.parentId;
  }
}
