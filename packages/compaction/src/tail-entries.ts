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
  const seen = new Set<string>();
  for (let id = leafId; id !== null && !seen.has(id); ) {
    seen.add(id);
    const entry = session.entry(id);
    if (entry === undefined) return;
    yield entry;
    if (id === compaction?.firstKeptEntryId) return;
    id = entry.parentId;
  }
}
