import {
  BonsaiError,
  type CustomMessage,
  type Message,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import type { StoredMessage } from "@bonsai-agent/session";
import type { AgentParts } from "../agent-parts.ts";
import { messageOf } from "../notice.ts";
import type { CustomInput, PromptInput, QueuedInput, QueuedMessage } from "./input.ts";

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
  const { result, payload } = await events.decide("input", event, { signal });
  if (signal.aborted) return input;
  return result?.action === "handled" ? undefined : { ...input, text: payload.text, images: payload.images };
}

/** A message as it stands in the session. */
export interface Recorded<Kind extends StoredMessage | CustomMessage = StoredMessage> {
  message: Kind;
  entryId: string;
}

/**
 * Stores a whole message: handlers see it, may change it, and see it stored.
 * @throws what appending to the session throws.
 */
export async function recordMessage<Kind extends StoredMessage | CustomMessage>(
  parts: AgentParts,
  message: Kind,
): Promise<Recorded<Kind>> {
  await parts.events.notify("message_start", { type: "message_start", message });
  return storeMessage(parts, message);
}

/** The same for an answer that was streamed: handlers have seen its start. */
export async function storeMessage<Kind extends StoredMessage | CustomMessage>(
  { events, session }: AgentParts,
  message: Kind,
): Promise<Recorded<Kind>> {
  const { payload } = await events.decide("message_end", { type: "message_end", message });
  const final = payload.message as Message as Kind;
  const { id: entryId } = session.append(
    final.role === "custom" ? customEntry(final) : { type: "message", message: final },
  )!;
  await events.notify("message_stored", { type: "message_stored", message: final, entryId });
  return { message: final, entryId };
}

function customEntry({ customType, content, display, details }: CustomMessage) {
  const fields = { customType, content, display, ...(details === undefined ? {} : { details }) };
  return { type: "custom_message" as const, ...fields };
}

/** A tool's result: what cannot be written as JSON becomes an error, so that the call has its result. */
export async function recordResult(
  parts: AgentParts,
  result: ToolResultMessage,
): Promise<Recorded<ToolResultMessage>> {
  try {
    return await recordMessage(parts, result);
  } catch (error) {
    if (!BonsaiError.is(error) || error.code !== "entry_not_serializable") throw error;
    const { details: _, ...writable } = result;
    const text = `The tool's result could not be stored: ${error.message}`;
    return storeMessage(parts, { ...writable, content: [{ type: "text", text }], isError: true });
  }
}

/** A message of an extension. */
export async function recordCustom(parts: AgentParts, input: CustomInput): Promise<void> {
  await recordMessage(parts, { role: "custom", ...input, timestamp: parts.now() });
}

/** A message that waited; one that cannot be stored waits again. */
export async function recordQueued(parts: AgentParts, queued: QueuedMessage): Promise<void> {
  try {
    await recordCustom(parts, queued.message);
  } catch (error) {
    parts.queue.putBack(queued);
    throw error;
  }
}

/**
 * Stores messages that wait, one after the other. One that cannot be stored is not lost: it goes with the user's next
 * prompt. Never rejects.
 */
export async function storeWaiting(parts: AgentParts, next: () => QueuedMessage | undefined): Promise<void> {
  for (let queued = next(); queued !== undefined; queued = next()) {
    const { message } = queued;
    try {
      await recordCustom(parts, message);
    } catch (error) {
      parts.queue.add({ message, behavior: "nextTurn" });
      parts.onNotice({
        level: "warning",
        code: "custom_message_waits",
        message: `A message of type ${message.customType} could not be stored, and goes with your next prompt: ${messageOf(error)}`,
      });
    }
  }
}
