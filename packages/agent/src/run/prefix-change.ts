import { tailEntries } from "@bonsai-agent/compaction";
import { type Entry, pinChange, type Session, UNDO_CUSTOM_TYPE } from "@bonsai-agent/session";

/**
 * When what signed thinking is bound to was last changed, other than by a compaction; undefined for never. A tool's
 * result may be masked in the middle of a task: the task's own thinking stays good, and providers want it back.
 */
export function prefixChangedAtMs(session: Session): number | undefined {
  const { compaction } = session.projection();
  for (const entry of tailEntries(session, session.leafId, compaction))
    if (changesPrefix(session, entry)) return Date.parse(entry.timestamp);
  return undefined;
}

function changesPrefix(session: Session, entry: Entry): boolean {
  if (entry.type === "custom") return entry.customType === UNDO_CUSTOM_TYPE;
  if (pinChange(entry)?.isPinned === false) return true;
  return entry.type === "context_edit" && !isBesideThinking(session.entry(entry.targetId));
}

/** A result's content, and an answer that failed: no request had it among what it was thought about. */
function isBesideThinking(edited: Entry | undefined): boolean {
  if (edited?.type !== "message") return false;
  const { message } = edited;
  return message.role === "toolResult" || (message.role === "assistant" && message.stopReason === "error");
}
