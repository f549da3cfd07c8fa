import { messageText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { SentMessage } from "../prompt/typed-message.ts";

/** The user's message that an entry is; empty for every other entry. */
export function sentMessage(session: Session, entryId: string): SentMessage {
  const entry = session.entry(entryId);
  if (entry?.type !== "message" || entry.message.role !== "user") return { text: "", images: 0 };
  const { content } = entry.message;
  const images = Array.isArray(content) ? content.filter(({ type }) => type === "image").length : 0;
  return { text: messageText(entry.message), images };
}
