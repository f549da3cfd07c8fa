import { BonsaiError, type Message, type ToolResultMessage } from "@bonsai-agent/messages";
import type { MessageEntry, StoredMessage } from "@bonsai-agent/session";
import type { Workplace } from "../workplace.ts";

/** A message as it stands in the session. */
export interface Recorded<Kind extends StoredMessage = StoredMessage> {
  message: Kind;
  entryId: string;
}

/**
 * Tells of a message that came whole, lets extensions change it, and stores it.
 * @throws what appending to the session throws.
 */
export async function recordMessage<Kind extends StoredMessage>(
  work: Workplace,
  message: Kind,
): Promise<Recorded<Kind>> {
  await work.events.notify("message_start", { type: "message_start", message });
  return storeMessage(work, message);
}

/** The same for a message whose start was told: an answer that was streamed. */
export async function storeMessage<Kind extends StoredMessage>(
  work: Workplace,
  message: Kind,
): Promise<Recorded<Kind>> {
  const { payload } = await work.events.decide("message_end", { type: "message_end", message });
  const final = payload.message as Message as Kind;
  const entry = work.session.append({ type: "message", message: final }) as MessageEntry;
  await work.events.notify("message_stored", { type: "message_stored", message: final, entryId: entry.id });
  return { message: final, entryId: entry.id };
}

/** The same for a tool's result: what cannot be written as JSON becomes an error, so that the call has its result. */
export async function recordResult(
  work: Workplace,
  result: ToolResultMessage,
): Promise<Recorded<ToolResultMessage>> {
  try {
    return await recordMessage(work, result);
  } catch (error) {
    if (!BonsaiError.is(error) || error.code !== "entry_not_serializable") throw error;
    const { details: _, ...writable } = result;
    const text = `The tool's result could not be stored: ${error.message}`;
    return storeMessage(work, { ...writable, content: [{ type: "text", text }], isError: true });
  }
}
