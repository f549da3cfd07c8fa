import { tailEntries } from "@bonsai-agent/compaction";
import { type Entry, type Session, UNDO_CUSTOM_TYPE } from "@bonsai-agent/session";

/** When the context was last changed other than by adding to it or by a compaction; undefined for never. */
export function prefixChangedAtMs(session: Session): number | undefined {
  const { compaction } = session.projection();
  for (const entry of tailEntries(session, session.leafId, compaction))
    if (changesPrefix(entry)) return Date.parse(entry.timestamp);
  return undefined;
}

function changesPrefix(entry: Entry): boolean {
  return entry.type === "context_edit" || (entry.type === "custom" && entry.customType === UNDO_CUSTOM_TYPE);
}
