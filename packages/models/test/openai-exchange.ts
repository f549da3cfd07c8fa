import type { AssistantMessage, Message, ToolCall } from "@bonsai-agent/messages";
import { type LoopbackReply, sseChunks } from "@bonsai-agent/testkit";
import { AnswerBuilder, type CatalogueModel, type ProviderCall, type StreamEvent } from "../src/index.ts";
import { chatRequest, openaiChatProvider } from "../src/openai/openai-chat.ts";
import { openaiResponsesProvider } from "../src/openai/openai-responses.ts";
import { type Exchange, eventStream, exchangeWith, leastCall } from "./provider-exchange.ts";

export { turnOf, user } from "./provider-exchange.ts";

import { served } from "./served.ts";

/** A thinking model of OpenAI's; `baseUrl` is set by the exchange. */
export const gpt: CatalogueModel = {
  provider: "openai",
  id: "gpt-5.2",
  name: "GPT-5.2",
  api: "openai-responses",
  baseUrl: "http://127.0.0.1",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 400_000,
  maxOutputTokens: 128_000,
  usdPerMillionTokens: { input: 2, output: 16, cacheRead: 0.2, cacheWrite: 0 },
};

/** A model of a server that nothing is known of. */
export const local: CatalogueModel = {
  ...gpt,
  provider: "local",
  id: "qwen3",
  name: "Qwen 3",
  api: "openai-chat",
  reasoning: false,
};

/** A model of a server, by the server's name and address. */
export function at(
  provider: string,
  baseUrl: string,
  id = local.id,
  parts: Partial<CatalogueModel> = {},
): CatalogueModel {
  return { ...local, provider, baseUrl, id, ...parts };
}

export const readTool = {
  name: "read",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

/** An answer of a model, whole. */
export function answerOf(model: CatalogueModel, content: AssistantMessage["content"]): AssistantMessage {
  return { ...new AnswerBuilder(model, 0).message, content, stopReason: "stop" };
}

export function callOfTool(id: string, parts: Partial<ToolCall> = {}): ToolCall {
  return { type: "toolCall", id, name: "read", arguments: { path: "a.ts" }, ...parts };
}

export function resultOf(toolCallId: string, text = "contents"): Message {
  const content = [{ type: "text" as const, text }];
  return { role: "toolResult", toolCallId, toolName: "read", content, isError: false, timestamp: 0 };
}

/** A call with the least that there must be. */
export function callOf(parts: Partial<ProviderCall> = {}): ProviderCall {
  return { ...leastCall(local), ...parts };
}

/** The messages as a request of Chat Completions has them. */
export function sent(messages: Message[], model: CatalogueModel = local): unknown[] {
  return chatRequest(callOf({ model, messages, systemPrompt: "" })).messages;
}

/** Asks the server at `url` in the model's protocol and reads until the end or the error. */
export async function exchange(
  url: string,
  parts: Partial<ProviderCall> = {},
  onEvent?: (event: StreamEvent) => void,
): Promise<Exchange> {
  const model = { ...(parts.model ?? local), baseUrl: url };
  const provider = model.api === "openai-chat" ? openaiChatProvider() : openaiResponsesProvider();
  return exchangeWith({ provider, model, parts, onEvent });
}

/** The calls that were declared complete, in order. */
export function endedCalls({ events }: Exchange): ToolCall[] {
  return events.flatMap((event) => (event.type === "tool_call" && event.toolCall ? [event.toolCall] : []));
}

/** A reply of the given chunks of data. */
export function streamOf(data: readonly unknown[], end?: LoopbackReply["end"]): LoopbackReply {
  return eventStream(sseChunks(data.map((each) => ({ data: each }))), end);
}

/** A chunk of Chat Completions. */
export function delta(
  part: Record<string, unknown>,
  finishReason: string | null = null,
): Record<string, unknown> {
  const choices = [{ index: 0, delta: part, finish_reason: finishReason }];
  return { id: "chatcmpl-1", object: "chat.completion.chunk", model: "qwen3", choices };
}

/** A chunk with parts of tool calls. */
export function callDelta(...parts: Record<string, unknown>[]): Record<string, unknown> {
  return delta({ tool_calls: parts });
}

export function finish(reason = "stop"): Record<string, unknown> {
  return delta({}, reason);
}

export function usageChunk(usage: Record<string, unknown>): Record<string, unknown> {
  return { id: "chatcmpl-1", object: "chat.completion.chunk", model: "qwen3", choices: [], usage };
}

/** The last event of a Responses stream. */
export function responseEnd(parts: Record<string, unknown> = {}): Record<string, unknown> {
  const status = String(parts.status ?? "completed");
  const response = { id: "resp_1", object: "response", model: "gpt-5.2", status, output: [], ...parts };
  return { type: `response.${status}`, response };
}

/** A reply of Responses events, named as the API names them. */
export function responsesOf(
  events: readonly Record<string, unknown>[],
  end?: LoopbackReply["end"],
): LoopbackReply {
  return eventStream(sseChunks(events.map((data) => ({ event: String(data.type), data }))), end);
}

/** A piece of thinking as a Responses stream brings it and takes it back. */
export const reasoningItem = {
  id: "rs_1",
  type: "reasoning",
  summary: [{ type: "summary_text", text: "I see" }],
  encrypted_content: "xyz",
};

/** A whole call of `read`, as a chunk of Chat Completions has it. */
export const whole = { name: "read", arguments: '{"path":"a.ts"}' };

/** Serves the chunks as a Chat Completions stream and reads the answer. */
export async function chat(...data: unknown[]): Promise<Exchange> {
  return exchange((await served(streamOf(data))).url);
}
