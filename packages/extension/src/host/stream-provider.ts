import { type AssistantMessage, emptyUsage, jsonText, type TextContent } from "@bonsai-agent/messages";
import { textContentSchema, thinkingContentSchema, usageSchema } from "@bonsai-agent/messages/schemas";
import {
  type AnswerBuilder,
  type Provider,
  type ProviderCall,
  ProviderError,
  type StreamEvent,
} from "@bonsai-agent/models";
import { splitThinking } from "@bonsai-agent/models/host";
import { z } from "zod";
import type { ProviderAnswer, ProviderOptions, ProviderStreamRequest } from "../api/provider-options.ts";
import { readableError } from "../load/thrown-error.ts";
import { ownCopy } from "./session-manager.ts";

type Answering = NonNullable<ProviderOptions["stream"]>;

/** A provider that an extension answers for. */
export function streamProvider(answering: Answering): Provider {
  return { stream: (call, answer) => answerCall(answering, call, answer) };
}

async function* answerCall(
  answering: Answering,
  call: ProviderCall,
  answer: AnswerBuilder,
): AsyncGenerator<StreamEvent, void, void> {
  call.signal.throwIfAborted();
  const watched = new WatchedAnswer(answer);
  const given: unknown = await answering(await requestOf(call), watched.own);
  await call.onResponse({ status: 200, headers: {} });
  const ended = isStream(given) ? yield* relay(given, answer, watched) : given;
  if (ended === watched) return;
  const message = validAnswer(ended);
  if (message.stopReason === "aborted") call.signal.throwIfAborted();
  if (message.stopReason === "error" || message.stopReason === "aborted")
    throw refused(message.errorMessage ?? "The provider failed and gave no reason.");
  yield* replaceContent(message, answer, { isNew: !isStream(given) });
}

/** Listeners may change the request. */
async function requestOf(call: ProviderCall): Promise<ProviderStreamRequest> {
  const { systemPrompt, tools, maxOutputTokens, apiKey, signal } = call;
  const thinking = call.model.reasoning ? call.thinking : "off";
  const messages = call.messages.map(ownCopy);
  const payload = { model: call.model.id, systemPrompt, tools, messages, maxOutputTokens, thinking };
  const { model: _model, ...sent } = (await call.onPayload(payload)) as typeof payload;
  const { provider, id, api, reasoning, input, baseUrl, headers } = call.model;
  return {
    ...sent,
    purpose: call.purpose,
    model: { provider, id, api, reasoning, input, baseUrl, ...(headers && { headers }) },
    signal,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(call.cacheKey === undefined ? {} : { cacheKey: call.cacheKey }),
  };
}

/** The builder for an extension. Remembers if the extension called `stop`. */
class WatchedAnswer {
  readonly own: ProviderAnswer;
  isStopped = false;

  constructor(answer: AnswerBuilder) {
    this.own = {
      message: answer.message,
      text: (delta) => answer.text(textOf(delta)),
      thinking: (delta) => answer.thinking(textOf(delta)),
      add: (block) => answer.add(block),
      beginCall: (call) => answer.beginCall(call),
      callArguments: (index, delta) => answer.callArguments(index, textOf(delta)),
      endCall: (index) => answer.endCall(index),
      setUsage: (counts) => answer.setUsage(soundCounts(counts)),
      stop: (reason, rawReason) => {
        this.isStopped = true;
        answer.stop(reason, rawReason);
      },
    };
  }
}

/** Relays a stream. @returns the final answer of the stream */
async function* relay(
  events: AsyncIterable<StreamEvent>,
  answer: AnswerBuilder,
  watched: WatchedAnswer,
): AsyncGenerator<StreamEvent, unknown, void> {
  for await (const event of events) {
    // The builder's events are already in the answer.
    if (event?.message === answer.message && event.type !== "done" && event.type !== "error") {
      yield event;
      continue;
    }
    switch (event?.type) {
      case "text":
        yield answer.text(textOf(event.delta));
        break;
      case "thinking":
        yield answer.thinking(textOf(event.delta));
        break;
      case "done":
      case "error":
        return event.message;
      default:
        // Calls are taken from the final answer.
        break;
    }
  }
  if (watched.isStopped) return watched;
  throw new ProviderError({
    kind: "cut",
    message: "The provider's stream ended without a done or error event.",
  });
}

/** Replaces the streamed content with the final answer. */
function* replaceContent(
  message: AssistantMessage,
  answer: AnswerBuilder,
  { isNew }: { isNew: boolean },
): Generator<StreamEvent, void, void> {
  answer.message.content.length = 0;
  for (const block of message.content) {
    if (block.type === "toolCall") {
      const at = answer.beginCall({ ...block, arguments: {} });
      yield answer.callArguments(at, jsonText(block.arguments ?? {}));
      yield answer.endCall(at);
    } else if (isNew && block.type === "text") yield answer.text(block.text);
    else if (block.type === "text" && answer.message.content.length === 0) addText(block, answer);
    else answer.add({ ...block });
  }
  const { cost, totalTokens: _total, ...counts } = { ...emptyUsage(), ...message.usage };
  answer.setUsage(soundCounts(counts));
  // The provider's own cost is more exact than a list of prices.
  const given = usageSchema.shape.cost.safeParse(cost);
  if (given.success && given.data.total > 0) answer.message.usage.cost = { ...given.data };
  answer.stop(message.stopReason, message.rawStopReason);
}

/** Keeps the counts that are numbers. */
function soundCounts(counts: unknown): Parameters<AnswerBuilder["setUsage"]>[0] {
  const given = typeof counts === "object" && counts !== null ? Object.entries(counts) : [];
  return Object.fromEntries(given.filter(([, count]) => typeof count === "number"));
}

/** Adds the first text without the thinking that a server left in it. */
function addText(block: TextContent, answer: AnswerBuilder): void {
  const { thinking, text } = splitThinking(block.text);
  if (thinking !== "") answer.add({ type: "thinking", thinking });
  if (text !== "") answer.add({ ...block, text });
}

function textOf(delta: unknown): string {
  return typeof delta === "string" ? delta : "";
}

function isStream(value: unknown): value is AsyncIterable<StreamEvent> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** A missing id of a call gets a default. */
const blockSchema = z.discriminatedUnion("type", [
  textContentSchema,
  thinkingContentSchema,
  z.looseObject({ type: z.literal("toolCall"), name: z.string().min(1), id: z.string().default("") }),
]);

const answerSchema = z.looseObject({
  content: z.array(blockSchema),
  stopReason: z.enum(["stop", "length", "toolUse", "error", "aborted"]),
  errorMessage: z.string().nullish(),
});

/** @throws ProviderError for an invalid answer, which would be stored */
function validAnswer(value: unknown): AssistantMessage {
  try {
    const parsed = answerSchema.safeParse(value);
    if (parsed.success) return parsed.data as unknown as AssistantMessage;
    const [issue] = parsed.error.issues;
    throw noAnswer(value, `${issue?.path.join(".") || "the whole answer"}: ${issue?.message}`);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    throw noAnswer(value, readableError(error).message);
  }
}

function noAnswer(value: unknown, why: string): ProviderError {
  const found = Array.isArray(value) ? "an array" : typeof value;
  return new ProviderError({
    kind: "garbled",
    message: `The provider's stream returned ${found} instead of an assistant message with content and stopReason (${why}).`,
  });
}

function refused(message: string): ProviderError {
  return new ProviderError({ kind: "refused", message });
}
