import { messageText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";

/** The text of the user's message that an entry is; empty for every other entry. */
export function messageTextOf(session: Session, entryId: string): string {
  const entry = session.entry(entryId);
  return entry?.type === "message" && entry.message.role === "user" ? messageText(entry.message) : "";
}
