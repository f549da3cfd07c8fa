import {
  BonsaiError,
  type CustomMessage,
  type Message,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import type { CustomMessageEntry, MessageEntry, StoredMessage } from "@bonsai-agent/session";
import type { AgentParts } from "../agent-parts.ts";
import type { CustomInput, PromptInput, QueuedInput } from "./prompt.ts";

/** What extensions made of a text; undefined when one took it. */
export async function askInputHandlers<Input extends PromptInput | QueuedInput>(
  { events }: AgentParts,
  input: Input,
  signal: AbortSignal,
): Promise<Input | undefined> {
  if (!events.hasHandlers("input")) return input;
  const { text, images, source } = input;
  const event = {
    type: "input" as const,
    text,
    source,
    ...(images === undefined ? {} : { images: [...images] }),
    ...("behavior" in input ? { streamingBehavior: input.behavior } : {}),
  };
  const { result, payload } = await events.decide("input", event, signal);
  if (signal.aborted) return input;
  return result?.action === "handled" ? undefined : { ...input, text: payload.text, images: payload.images };
}

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
  work: AgentParts,
  message: Kind,
): Promise<Recorded<Kind>> {
  await work.events.notify("message_start", { type: "message_start", message });
  return storeMessage(work, message);
}

/** The same for a message whose start was told: an answer that was streamed. */
export async function storeMessage<Kind extends StoredMessage>(
  work: AgentParts,
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
  work: AgentParts,
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

/**
 * Tells of an extension's message, lets extensions change it, and stores it.
 * @throws what appending to the session throws.
 */
export async function recordCustom(work: AgentParts, input: CustomInput): Promise<void> {
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
  work: AgentParts,
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
