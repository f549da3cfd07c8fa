import type { CustomMessage } from "@bonsai-agent/messages";
import type { CustomMessageEntry } from "@bonsai-agent/session";
import type { Workplace } from "../workplace.ts";
import type { CustomInput } from "./custom-input.ts";

/**
 * Tells of an extension's message, lets extensions change it, and stores it.
 * @throws what appending to the session throws.
 */
export async function recordCustom(work: Workplace, input: CustomInput): Promise<void> {
  const { events, session } = work;
  const message: CustomMessage = { role: "custom", ...input, timestamp: work.now() };
  await events.notify("message_start", { type: "message_start", message });
  const { payload } = await events.decide("message_end", { type: "message_end", message });
  const final = payload.message as CustomMessage;
  const { customType, content, display, details } = final;
  const fields = { customType, content, display, ...(details === undefined ? {} : { details }) };
  const entry = session.append({ type: "custom_message", ...fields }) as CustomMessageEntry;
  await events.notify("message_stored", { type: "message_stored", message: final, entryId: entry.id });
}

/**
 * Stores messages that wait, one after the other. One that cannot be stored is not lost: it goes with the user's next
 * prompt. Never rejects.
 */
export async function storeWaiting(
  work: Workplace,
  take: () => { message: CustomInput } | undefined,
): Promise<void> {
  for (let next = take(); next !== undefined; next = take()) {
    try {
      await recordCustom(work, next.message);
    } catch (error) {
      work.queue.addForNextPrompt(next.message);
      const why = error instanceof Error ? error.message : String(error);
      work.onNotice({
        level: "warning",
        code: "custom_message_waits",
        message: `A message of type ${next.message.customType} could not be stored, and goes with your next prompt: ${why}`,
      });
    }
  }
}
