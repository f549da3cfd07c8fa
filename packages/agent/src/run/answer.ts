import {
  type AssistantMessage,
  BonsaiError,
  type CustomMessage,
  type ImageContent,
  type Message,
  type ToolResultMessage,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { deepCopy } from "@bonsai-agent/messages/host";
import type { FinalEvent, ModelFailure, ModelRequest, StreamEvent } from "@bonsai-agent/models";
import { isRefusedImageLine } from "@bonsai-agent/models/host";
import type { Session, StoredMessage } from "@bonsai-agent/session";
import type { CustomInput } from "../events.ts";
import { type AgentNotice, messageOf, modelNotice } from "../notice.ts";
import { maskKeys } from "../tools/mask-keys.ts";
import type { AgentParts } from "./agent-parts.ts";
import { contextUsage } from "./agent-state.ts";
import type { QueuedMessage } from "./queue.ts";
import { type Block, blocksOf, isImageEdit, turnBase, withHints } from "./turn-request.ts";

/** An answer as it was stored. */
export interface Answer {
  message: AssistantMessage;
  entryId: string;
  status: "good" | "aborted" | "failed";
  /** With the status `failed`. */
  failure?: ModelFailure | undefined;
}

/** Sends the context to the model, fires events as the answer streams in, and stores it. */
export async function requestAnswer(parts: AgentParts, runSignal: AbortSignal): Promise<Answer> {
  // A signal of its own: the signal of the run lives for hours and must not collect the listeners of each request.
  const signal = AbortSignal.any([runSignal]);
  const voided: Usage[] = [];
  const request = await buildRequest(parts, signal, (usage) => voided.push(usage));
  const final = await readStream(parts, request, signal);
  // Repeated attempts were paid for, and no answer contains their usage.
  const { provider, id: model } = request.model;
  parts.session.append(voided.map((usage) => ({ type: "usage", kind: "retry", provider, model, usage })));
  const { message, entryId } = await storeMessage(parts, withoutKeys(parts, final.message));
  if (message.stopReason === "aborted") return { message, entryId, status: "aborted" };
  if (final.type === "error") return { message, entryId, status: "failed", failure: final.failure };
  if (message.stopReason === "length") parts.onNotice(cutOff);
  parts.promptCache.remember({ request, answer: message, atMs: parts.now() });
  return { message, entryId, status: "good" };
}

/** Masks keys that the model repeats in its text. Calls stay unchanged, because tools run them. */
function withoutKeys({ models }: AgentParts, message: AssistantMessage): AssistantMessage {
  const mask = maskKeys(models.secrets());
  const content = message.content.map((block) =>
    block.type === "text" ? { ...block, text: mask(block.text) } : block,
  );
  return { ...message, content };
}

const cutOff: AgentNotice = {
  level: "warning",
  code: "answer_cut_off",
  message:
    "The answer reached the output limit and was cut off. Ask the agent to continue, or ask for less at a time.",
};

/** Returns the end of the stream. An answer that breaks off is stored as far as it came. */
async function readStream(
  parts: AgentParts,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<FinalEvent> {
  let latest: StreamEvent | undefined;
  try {
    for await (const event of parts.models.stream(request)) {
      await notifyUpdate(parts, event, latest);
      latest = event;
    }
    if (latest?.type === "done" || latest?.type === "error") return latest;
    throw new TypeError(`The model's stream ${latest ? "ended without an answer" : "had no events"}.`);
  } catch (error) {
    if (latest === undefined) throw error;
    const { message } = latest;
    message.stopReason = signal.aborted ? "aborted" : "error";
    if (signal.aborted) return { type: "error", message };
    const why = messageOf(error);
    message.errorMessage = why;
    const from = { provider: message.provider, modelId: message.model };
    return { type: "error", message, failure: { kind: "other", message: why, ...from, retryable: false } };
  }
}

/** A second start is a retry: the same message begins again, empty. */
async function notifyUpdate(
  { events }: AgentParts,
  event: StreamEvent,
  latest: StreamEvent | undefined,
): Promise<void> {
  const { message } = event;
  if (event.type === "start" && latest === undefined)
    await events.notify("message_start", { type: "message_start", message });
  else if (events.hasHandlers("message_update"))
    await events.notify("message_update", { type: "message_update", message, assistantMessageEvent: event });
}

async function buildRequest(
  parts: AgentParts,
  signal: AbortSignal,
  onVoidedUsage: (usage: Usage) => void,
): Promise<ModelRequest> {
  const { events, selection, session } = parts;
  return {
    ...turnBase(parts),
    model: selection.model,
    purpose: "turn",
    messages: await contextMessages(parts, signal),
    contextTokens: () => contextUsage(parts).tokens,
    signal,
    onPayload: async (body) => {
      const asked = { type: "before_provider_request" as const, payload: body };
      return (await events.decide("before_provider_request", asked, { signal })).payload.payload;
    },
    onResponse: ({ status, headers }) =>
      events.notify("after_provider_response", { type: "after_provider_response", status, headers }),
    onVoidedUsage,
    onRefusedImages: (images, line) => omitImages(session, images, line),
    onNotice: (notice) => parts.onNotice(modelNotice(notice)),
  };
}

/** Extensions get a copy, because they may change it in place. */
async function contextMessages(
  { events, session, tools }: AgentParts,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const projected = withHints(
    session.projection().items.map(({ message }) => message),
    tools,
  );
  if (!events.hasHandlers("context")) return projected;
  const copy = deepCopy(projected);
  const { payload } = await events.decide("context", { type: "context", messages: copy }, { signal });
  return payload.messages === copy ? projected : payload.messages;
}

/** The error of a run whose request failed. */
export function modelFailed({ failure, message }: Answer): BonsaiError {
  const from = `${message.provider}/${message.model}`;
  if (failure?.code === "answer_empty")
    return new BonsaiError({
      code: "answer_empty",
      message: `${from} gave no answer. ${failure.message}`,
      hint: "The work so far is kept. Ask the agent to continue, rephrase, or choose another model.",
    });
  const isKeyRefused = failure?.status === 401 || failure?.status === 403;
  const advice = isKeyRefused
    ? "Check the key, or choose another model. /login stores a new key, but the provider's environment variable overrides it."
    : "Send the message again, or choose another model.";
  return new BonsaiError({
    code: "model_failed",
    message: `${from} failed: ${failure?.message ?? message.errorMessage ?? "no reason given"}`,
    hint: `The answer so far is kept. ${advice}`,
  });
}

/** A stored message. */
export interface Recorded<Kind extends StoredMessage | CustomMessage = StoredMessage> {
  message: Kind;
  entryId: string;
}

/** Stores a complete message, after its handlers. @throws errors of appending to the session. */
export async function recordMessage<Kind extends StoredMessage | CustomMessage>(
  parts: AgentParts,
  message: Kind,
): Promise<Recorded<Kind>> {
  await parts.events.notify("message_start", { type: "message_start", message });
  return storeMessage(parts, message);
}

/** Stores a streamed answer: its handlers have seen its start. */
async function storeMessage<Kind extends StoredMessage | CustomMessage>(
  { events, session }: AgentParts,
  message: Kind,
): Promise<Recorded<Kind>> {
  const { payload } = await events.decide("message_end", { type: "message_end", message });
  const final = payload.message as Message as Kind;
  const { id: entryId } = session.append(entryOf(final))!;
  await events.notify("message_stored", { type: "message_stored", message: final, entryId });
  return { message: final, entryId };
}

function entryOf(message: StoredMessage | CustomMessage) {
  if (message.role !== "custom") return { type: "message" as const, message };
  const { customType, content, display, details } = message;
  const given = details === undefined ? {} : { details };
  return { type: "custom_message" as const, customType, content, display, ...given };
}

/** Stores a tool's result. One that is no JSON becomes an error result, so that the call has a result. */
export async function recordResult(
  parts: AgentParts,
  result: ToolResultMessage,
): Promise<Recorded<ToolResultMessage>> {
  try {
    return await recordMessage(parts, result);
  } catch (error) {
    if (!BonsaiError.is(error) || error.code !== "entry_not_serializable") throw error;
    const { details: _, ...writable } = result;
    const text = `Cannot store the tool's result: ${error.message}`;
    return storeMessage(parts, { ...writable, content: [{ type: "text", text }], isError: true });
  }
}

/** Stores a message of an extension. */
export async function recordCustom(parts: AgentParts, input: CustomInput): Promise<void> {
  await recordMessage(parts, { role: "custom", ...input, timestamp: parts.now() });
}

/** Stores a queued message. One that cannot be stored goes back to the queue. */
export async function recordQueued(parts: AgentParts, queued: QueuedMessage): Promise<void> {
  try {
    await recordCustom(parts, queued.message);
  } catch (error) {
    parts.queue.putBack(queued);
    throw error;
  }
}

/** Stores queued messages in order. One that cannot be stored waits for the user's next prompt. Never rejects. */
export async function appendQueued(parts: AgentParts, next: () => QueuedMessage | undefined): Promise<void> {
  for (let queued = next(); queued !== undefined; queued = next()) {
    const { message } = queued;
    try {
      await recordCustom(parts, message);
    } catch (error) {
      parts.queue.add({ message, behavior: "nextTurn" });
      parts.onNotice({
        level: "warning",
        code: "custom_message_waits",
        message: `Cannot store a message of type ${message.customType} now. It will be sent with your next prompt. ${messageOf(error)}`,
      });
    }
  }
}

/** Replaces images in the model's view with a line of text: the provider refuses every request that contains them. */
function omitImages(session: Session, images: readonly ImageContent[], line: string): void {
  const refused = new Set<unknown>(images.map(({ data }) => data));
  const isRefused = ({ type, data }: Block) => type === "image" && refused.has(data);
  for (const { entryId, message } of session.projection().items) {
    const { content } = message as { content?: unknown };
    if (!Array.isArray(content) || !content.some(isRefused)) continue;
    const text: UserContent = { type: "text", text: line };
    const replaced = content.map((block: UserContent) => (isRefused(block) ? text : block));
    session.append({ type: "context_edit", targetId: entryId, replacement: { content: replaced } });
  }
}

/** Restores the images that a provider refused: another model may accept them. */
export function restoreImages(session: Session): void {
  for (const { entryId, entry, edit } of session.projection().items) {
    if (edit === undefined || !isImageEdit(edit, entry)) continue;
    const before = blocksOf(entry.type === "message" ? entry.message : entry) ?? [];
    const after = blocksOf(edit.replacement) ?? [];
    const isRefusal = before.some(
      ({ type }, at) => type === "image" && isRefusedImageLine(String(after[at]?.text)),
    );
    if (!isRefusal) continue;
    const content = before as UserContent[];
    session.append({ type: "context_edit", targetId: entryId, replacement: { content } });
  }
}
