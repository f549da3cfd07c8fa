import { type LoopbackReply, type LoopbackServer, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
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

/** How a protocol says what the tests need. */
export interface Wire {
  path: string;
  error: (status: number, message: string, headers?: Record<string, string>) => LoopbackReply;
  text: (said: string) => LoopbackReply;
  call: (id: string, args: string, end?: LoopbackReply["end"]) => LoopbackReply;
  /** Where the output cap stands in a request. */
  cap: (body: never) => number;
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

export const anthropicEnd = (reason: string) => [
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: 20 },
  },
  { type: "message_stop" },
];

export const anthropic: Wire = {
  path: "/v1/messages",
  error: (status, message, headers) =>
    json(
      status,
      {
        type: "error",
        error: {
          type:
            status === 429
              ? "rate_limit_error"
              : status === 529
                ? "overloaded_error"
                : "invalid_request_error",
          message,
        },
      },
      headers,
    ),
  text: (text) =>
    typed([
      anthropicStart,
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      ...anthropicEnd("end_turn"),
    ]),
  call: (id, args, end) =>
    typed(
      [
        anthropicStart,
        {
          type: "content_block_start",
          index: 0,
          content_block: { type: "tool_use", id, name: "read", input: {} },
        },
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: args } },
        ...(end === undefined ? anthropicEnd("tool_use") : []),
      ],
      end,
    ),
  cap: (body: { max_tokens: number }) => body.max_tokens,
};

export const chatUsage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

export const chunk = (delta: unknown, finish: string | null = null) => ({
  data: {
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(finish && { usage: chatUsage }),
  },
});

export const done = { data: "[DONE]" };

export const chat: Wire = {
  path: "/chat/completions",
  error: (status, message, headers) =>
    json(status, { error: { message, type: "invalid_request_error" } }, headers),
  text: (content) => sse([chunk({ role: "assistant", content }), chunk({}, "stop"), done]),
  call: (id, args, end) =>
    sse(
      [
        chunk({
          role: "assistant",
          tool_calls: [{ index: 0, id, type: "function", function: { name: "read", arguments: args } }],
        }),
        ...(end === undefined ? [chunk({}, "tool_calls"), done] : []),
      ],
      end,
    ),
  cap: (body: { max_tokens?: number; max_completion_tokens?: number }) =>
    body.max_tokens ?? body.max_completion_tokens ?? 0,
};

export const responsesEnd = (output: unknown[]) => ({
  type: "response.completed",
  response: {
    id: "r",
    status: "completed",
    output,
    usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
  },
});

export const callItem = (id: string, args: string) => ({
  type: "function_call",
  id: "fc_1",
  call_id: id,
  name: "read",
  arguments: args,
  status: "completed",
});

export const responses: Wire = {
  path: "/responses",
  error: (status, message, headers) =>
    json(status, { error: { message, type: "invalid_request_error", code: null } }, headers),
  text: (text) => {
    const item = {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    };
    return typed([
      { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...item, content: [], status: "in_progress" },
      },
      {
        type: "response.output_text.delta",
        output_index: 0,
        content_index: 0,
        item_id: "msg_1",
        delta: text,
      },
      { type: "response.output_item.done", output_index: 0, item },
      responsesEnd([item]),
    ]);
  },
  call: (id, args, end) =>
    typed(
      [
        { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { ...callItem(id, ""), status: "in_progress" },
        },
        { type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc_1", delta: args },
        ...(end === undefined
          ? [
              {
                type: "response.function_call_arguments.done",
                output_index: 0,
                item_id: "fc_1",
                arguments: args,
              },
              { type: "response.output_item.done", output_index: 0, item: callItem(id, args) },
              responsesEnd([callItem(id, args)]),
            ]
          : []),
      ],
      end,
    ),
  cap: (body: { max_output_tokens: number }) => body.max_output_tokens,
};

export const wires: [ProviderApi, Wire][] = [
  ["anthropic-messages", anthropic],
  ["openai-chat", chat],
  ["openai-responses", responses],
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
