import type { Message } from "@bonsai-agent/messages";
import { project, type Session } from "@bonsai-agent/session";

/** The messages that were stored below an entry on the way to the leaf, oldest first. */
export function messagesSince(session: Session, entryId: string | null): Message[] {
  const messages: Message[] = [];
  for (let id = session.leafId; id !== null && id !== entryId; ) {
    const entry = session.entry(id);
    if (entry === undefined) break;
    if (entry.type === "message") messages.push(entry.message);
    if (entry.type === "custom_message")
      messages.push(...project([entry]).items.map(({ message }) => message));
    id = entry.parentId;
  }
  return messages.reverse();
}
