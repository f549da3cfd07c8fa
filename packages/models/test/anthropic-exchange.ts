import type { AssistantMessage } from "@bonsai-agent/messages";
import { type LoopbackReply, sseChunks } from "@bonsai-agent/testkit";
import { anthropicProvider } from "../src/anthropic.ts";
import {
  AnswerBuilder,
  type CatalogueModel,
  type ProviderCall,
  ProviderError,
  type ProviderResponse,
  type StreamEvent,
} from "../src/index.ts";

export const claude: CatalogueModel = {
  provider: "anthropic",
  id: "claude-opus-5-5",
  name: "Claude Opus 5.5",
  api: "anthropic-messages",
  baseUrl: "http://127.0.0.1",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 1_000_000,
  maxOutputTokens: 128_000,
  usdPerMillionTokens: { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 },
};

/** A call with the least that there must be. */
export function callOf(parts: Partial<ProviderCall> = {}): ProviderCall {
  return {
    model: claude,
    purpose: "turn",
    apiKey: "key-1",
    systemPrompt: "Be brief.",
    tools: [],
    messages: [{ role: "user", content: "Hello", timestamp: 0 }],
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

/** Asks the server at `url` and reads until the end or the error; `onEvent` sees each event as it comes. */
export async function exchange(
  url: string,
  parts: Partial<ProviderCall> = {},
  onEvent: (event: StreamEvent) => void = () => {},
): Promise<Exchange> {
  const model = { ...(parts.model ?? claude), baseUrl: url };
  const answer = new AnswerBuilder(model, 0);
  const events: StreamEvent[] = [];
  const responses: ProviderResponse[] = [];
  const onResponse = async (response: ProviderResponse) => void responses.push(response);
  try {
    const call = callOf({ onResponse, ...parts, model });
    for await (const event of anthropicProvider().stream(call, answer)) {
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

type WireEvent = Record<string, unknown> & { type: string };

/** Events of the stream as the API names them. */
export function wire(events: readonly WireEvent[]): string[] {
  return sseChunks(events.map((data) => ({ event: data.type, data })));
}

/** A reply of the given events. */
export function streamOf(events: readonly WireEvent[], end: LoopbackReply["end"] = "close"): LoopbackReply {
  return { headers: { "content-type": "text/event-stream; charset=utf-8" }, chunks: wire(events), end };
}

export function messageStart(
  usage: Record<string, unknown> = { input_tokens: 10, output_tokens: 1 },
): WireEvent {
  const message = { id: "msg_1", type: "message", role: "assistant", model: claude.id, content: [], usage };
  return { type: "message_start", message };
}

/** The events of one block: its start, its deltas, its end. */
export function block(
  index: number,
  start: Record<string, unknown>,
  deltas: Record<string, unknown>[] = [],
): WireEvent[] {
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

export function textBlock(index: number, ...pieces: string[]): WireEvent[] {
  return block(
    index,
    { type: "text", text: "" },
    pieces.map((text) => ({ type: "text_delta", text })),
  );
}

export function callBlock(index: number, id: string, name: string, ...pieces: string[]): WireEvent[] {
  return block(
    index,
    { type: "tool_use", id, name, input: {} },
    pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  );
}

export function messageEnd(
  stop_reason: string | null,
  usage: Record<string, unknown> = { output_tokens: 20 },
  stop_details: unknown = null,
): WireEvent[] {
  return [
    { type: "message_delta", delta: { stop_reason, stop_sequence: null, stop_details }, usage },
    { type: "message_stop" },
  ];
}
