import type { Message } from "@bonsai-agent/messages";
import type { MessageEntry, StoredMessage } from "@bonsai-agent/session";
import type { Workplace } from "./workplace.ts";

/** Tells of a message that came whole, lets extensions change it, and stores it. */
export async function recordMessage<Kind extends StoredMessage>(
  work: Workplace,
  message: Kind,
): Promise<{ message: Kind; entryId: string }> {
  await work.lifecycle.notify("message_start", { type: "message_start", message });
  return storeMessage(work, message);
}

/** The same for a message whose start was told: an answer that was streamed. */
export async function storeMessage<Kind extends StoredMessage>(
  work: Workplace,
  message: Kind,
): Promise<{ message: Kind; entryId: string }> {
  const { payload } = await work.lifecycle.decide("message_end", { type: "message_end", message });
  const final = payload.message as Message as Kind;
  const entry = work.session.append({ type: "message", message: final }) as MessageEntry;
  return { message: final, entryId: entry.id };
}
