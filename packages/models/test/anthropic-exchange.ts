import { type LoopbackReply, sseChunks } from "@bonsai-agent/testkit";
import { anthropicProvider } from "../src/anthropic/anthropic.ts";
import type { CatalogueModel, ProviderCall, StreamEvent } from "../src/index.ts";
import { type Exchange, eventStream, exchangeWith, leastCall } from "./provider-exchange.ts";

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
  return { ...leastCall(claude), ...parts };
}

/** Asks the server at `url` and reads until the end or the error. */
export async function exchange(
  url: string,
  parts: Partial<ProviderCall> = {},
  onEvent?: (event: StreamEvent) => void,
): Promise<Exchange> {
  const model = { ...(parts.model ?? claude), baseUrl: url };
  return exchangeWith({ provider: anthropicProvider(), model, parts, onEvent });
}

type WireEvent = Record<string, unknown> & { type: string };

/** Events of the stream as the API names them. */
export function wire(events: readonly WireEvent[]): string[] {
  return sseChunks(events.map((data) => ({ event: data.type, data })));
}

/** A reply of the given events. */
export function streamOf(events: readonly WireEvent[], end?: LoopbackReply["end"]): LoopbackReply {
  return eventStream(wire(events), end);
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
