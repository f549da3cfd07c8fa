import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { LoopbackReply } from "@bonsai-agent/testkit";
import {
  AnswerBuilder,
  type CatalogueModel,
  type Provider,
  type ProviderCall,
  ProviderError,
  type StreamEvent,
} from "../src/index.ts";
import type { ModelRequest, ProviderResponse } from "../src/model-request.ts";

export function user(content: string): Message {
  return { role: "user", content, timestamp: 0 };
}

/** A turn with one message of the user, as a client is asked for it. */
export function turnOf(model: CatalogueModel, parts: Partial<ModelRequest> = {}): ModelRequest {
  return { model, purpose: "turn", systemPrompt: "", tools: [], messages: [user("Hello")], ...parts };
}

/** A call with the least that there must be. */
export function leastCall(model: CatalogueModel): ProviderCall {
  return {
    model,
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

export interface ExchangeOptions {
  provider: Provider;
  model: CatalogueModel;
  /** What the call has beside the least. */
  parts: Partial<ProviderCall>;
  /** Sees each event as it comes. */
  onEvent?: ((event: StreamEvent) => void) | undefined;
}

/** Asks a provider and reads until the end or the error. */
export async function exchangeWith({ provider, model, parts, onEvent }: ExchangeOptions): Promise<Exchange> {
  const answer = new AnswerBuilder(model, 0);
  const events: StreamEvent[] = [];
  const responses: ProviderResponse[] = [];
  const onResponse = async (response: ProviderResponse) => void responses.push(response);
  try {
    for await (const event of provider.stream({ ...leastCall(model), onResponse, ...parts, model }, answer)) {
      events.push(event);
      onEvent?.(event);
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

/** A reply that streams events. */
export function eventStream(chunks: string[], end: LoopbackReply["end"] = "close"): LoopbackReply {
  return { headers: { "content-type": "text/event-stream; charset=utf-8" }, chunks, end };
}
