import {
  wires as answers,
  type LoopbackReply,
  type LoopbackServer,
  loopbackServer,
  sseChunks,
  type WireName,
} from "@bonsai-agent/testkit";
import { onTestFinished } from "vitest";
import type { RetryPolicy } from "../src/exchange/attempts.ts";
import {
  type CatalogueModel,
  ModelClient,
  type ModelNotice,
  type ModelRequest,
  type ProviderApi,
  type StreamEvent,
} from "../src/index.ts";

/** The replies of a server in one protocol, and the fields of its requests. */
export interface Wire {
  path: string;
  error: (status: number, message: string, headers?: Record<string, string>) => LoopbackReply;
  text: (said: string) => LoopbackReply;
  /** A call of `read`; with `end`, its stream ends in the middle of the arguments. */
  call: (id: string, args: string, end?: LoopbackReply["end"]) => LoopbackReply;
  /** The output cap of a request. */
  cap: (body: Record<string, number>) => number | undefined;
}

export const sse = (
  events: readonly { event?: string; data: unknown }[],
  end: LoopbackReply["end"] = "close",
) => ({ headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events), end });

export const typed = (
  events: readonly ({ type: string } & Record<string, unknown>)[],
  end?: LoopbackReply["end"],
) =>
  sse(
    events.map((data) => ({ event: data.type, data })),
    end,
  );

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): LoopbackReply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  chunks: [JSON.stringify(body)],
});

export const anthropicStart = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 100, output_tokens: 1 },
  },
};

export const chunk = (delta: unknown, finish: string | null = null) => ({
  data: {
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(finish && { usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } }),
  },
});

export const done = { data: "[DONE]" };

const errorTypes: Record<number, string> = { 429: "rate_limit_error", 529: "overloaded_error" };
const usage = { input: 100, output: 20 };

/** @param openEvents the events of an answer up to the end of a call's arguments */
const wire = (api: WireName, path: string, openEvents: number): [WireName, Wire] => [
  api,
  {
    path,
    error: (status, message, headers) => {
      const error = { message, type: errorTypes[status] ?? "invalid_request_error" };
      return json(status, api === "anthropic-messages" ? { type: "error", error } : { error }, headers);
    },
    text: (text) => sse(answers[api].answer({ text, usage })),
    call: (id, args, end) => {
      const events = answers[api].answer({ calls: [{ id, name: "read", arguments: args }], usage });
      return end === undefined ? sse(events) : sse(events.slice(0, openEvents), end);
    },
    cap: (body) => body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens,
  },
];

export const wires = [
  wire("anthropic-messages", "/v1/messages", 4),
  wire("openai-chat", "/chat/completions", 2),
  wire("openai-responses", "/responses", 4),
];

export interface Outcome {
  events: StreamEvent[];
  end: Extract<StreamEvent, { type: "done" | "error" }>;
  notices: ModelNotice[];
  waits: number[];
  client: ModelClient;
  model: CatalogueModel;
  server: LoopbackServer;
}

/** One request through the real SDK; the last reply is given for ever. */
export async function ask(
  api: ProviderApi,
  replies: LoopbackReply[],
  retry: Partial<RetryPolicy> = {},
  parts: Partial<ModelRequest> = {},
): Promise<Outcome> {
  const server = await loopbackServer((_request, index) => replies[Math.min(index, replies.length - 1)]!);
  onTestFinished(() => server.close());
  const model: CatalogueModel = {
    provider: "lab",
    id: "m",
    name: "M",
    api,
    baseUrl: server.url,
    input: ["text", "image"],
    reasoning: false,
    contextWindow: 200_000,
    maxOutputTokens: 20_000,
    usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
  };
  const waits: number[] = [];
  const notices: ModelNotice[] = [];
  const client = new ModelClient({ retry, random: () => 0, sleep: async (ms) => void waits.push(ms) });
  const events: StreamEvent[] = [];
  for await (const event of client.stream({
    model,
    purpose: "turn",
    systemPrompt: "Be brief.",
    tools: [
      {
        name: "read",
        description: "Reads.",
        parameters: { type: "object", properties: { path: { type: "string" } } },
      },
    ],
    messages: [{ role: "user", content: "Hello", timestamp: 0 }],
    onNotice: (notice) => notices.push(notice),
    ...parts,
  }))
    events.push(event);
  return { events, end: events.at(-1) as Outcome["end"], notices, waits, client, model, server };
}
