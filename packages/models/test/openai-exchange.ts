import type { AssistantMessage, Message, ToolCall } from "@bonsai-agent/messages";
import { type LoopbackReply, sseChunks } from "@bonsai-agent/testkit";
import {
  AnswerBuilder,
  type CatalogueModel,
  type Provider,
  type ProviderCall,
  ProviderError,
  type ProviderResponse,
  type StreamEvent,
} from "../src/index.ts";
import { openaiChatProvider } from "../src/openai-chat.ts";
import { openaiResponsesProvider } from "../src/openai-responses.ts";

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

export const readTool = {
  name: "read",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

export function user(content: string): Message {
  return { role: "user", content, timestamp: 0 };
}

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
  return {
    model: local,
    purpose: "turn",
    apiKey: "key-1",
    systemPrompt: "Be brief.",
    tools: [],
    messages: [user("Hello")],
    maxOutputTokens: 8_000,
    thinking: "off",
    cacheKey: undefined,
    signal: new AbortController().signal,
    onAlive: () => {},
    onPayload: async (payload) => payload,
    onResponse: async () => {},
    ...parts,
  };
}

/** What came of one call. */
export interface Exchange {
  events: StreamEvent[];
  message: AssistantMessage;
  responses: ProviderResponse[];
  /** What was thrown. */
  error?: unknown;
}

/** Asks the server at `url` in the model's protocol and reads until the end or the error. */
export async function exchange(
  url: string,
  parts: Partial<ProviderCall> = {},
  onEvent: (event: StreamEvent) => void = () => {},
): Promise<Exchange> {
  const model = { ...(parts.model ?? local), baseUrl: url };
  const answer = new AnswerBuilder(model, 0);
  const provider: Provider = model.api === "openai-chat" ? openaiChatProvider() : openaiResponsesProvider();
  const events: StreamEvent[] = [];
  const responses: ProviderResponse[] = [];
  const onResponse = async (response: ProviderResponse) => void responses.push(response);
  try {
    const call = callOf({ onResponse, ...parts, model });
    for await (const event of provider.stream(call, answer)) {
      events.push(event);
      onEvent(event);
    }
    return { events, responses, message: answer.message };
  } catch (error) {
    return { events, responses, message: answer.message, error };
  }
}

/** What was thrown, without what nobody decides by; fails a test when it is no ProviderError. */
export function failureOf({ error }: Exchange): Partial<ProviderError> {
  if (!(error instanceof ProviderError)) throw new TypeError(`not a ProviderError: ${String(error)}`);
  const { kind, message, status, code, body, retryAfterMs } = error;
  return { kind, message, status, code, body, retryAfterMs };
}

/** The calls that were declared complete, in order. */
export function endedCalls({ events }: Exchange): ToolCall[] {
  return events.flatMap((event) => (event.type === "tool_call" && event.toolCall ? [event.toolCall] : []));
}

/** A reply of the given chunks of data. */
export function streamOf(data: readonly unknown[], end: LoopbackReply["end"] = "close"): LoopbackReply {
  const chunks = sseChunks(data.map((each) => ({ data: each })));
  return { headers: { "content-type": "text/event-stream; charset=utf-8" }, chunks, end };
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
  end: LoopbackReply["end"] = "close",
): LoopbackReply {
  const chunks = sseChunks(events.map((data) => ({ event: String(data.type), data })));
  return { headers: { "content-type": "text/event-stream; charset=utf-8" }, chunks, end };
}
