import { execFileSync } from "node:child_process";
import { toolCalls } from "@bonsai-agent/messages";
import { type LoopbackReply, type LoopbackServer, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import {
  type CatalogueModel,
  ModelClient,
  type ModelFailure,
  type ModelNotice,
  type ModelRequest,
  type ProviderApi,
  type RetryPolicy,
  type StreamEvent,
} from "../src/index.ts";

let server: LoopbackServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** How a protocol says what the tests need. */
interface Wire {
  path: string;
  error: (status: number, message: string, headers?: Record<string, string>) => LoopbackReply;
  text: (said: string) => LoopbackReply;
  call: (id: string, args: string, end?: LoopbackReply["end"]) => LoopbackReply;
  /** Where the output cap stands in a request. */
  cap: (body: never) => number;
}

const sse = (events: readonly { event?: string; data: unknown }[], end: LoopbackReply["end"] = "close") => ({
  headers: { "content-type": "text/event-stream" },
  chunks: sseChunks(events),
  end,
});
const typed = (events: readonly ({ type: string } & Record<string, unknown>)[], end?: LoopbackReply["end"]) =>
  sse(
    events.map((data) => ({ event: data.type, data })),
    end,
  );
const json = (status: number, body: unknown, headers: Record<string, string> = {}): LoopbackReply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  chunks: [JSON.stringify(body)],
});

const anthropicStart = {
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
const anthropicEnd = (reason: string) => [
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: 20 },
  },
  { type: "message_stop" },
];
const anthropic: Wire = {
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

const chatUsage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const chunk = (delta: unknown, finish: string | null = null) => ({
  data: {
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(finish && { usage: chatUsage }),
  },
});
const done = { data: "[DONE]" };
const chat: Wire = {
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

const responsesEnd = (output: unknown[]) => ({
  type: "response.completed",
  response: {
    id: "r",
    status: "completed",
    output,
    usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
  },
});
const callItem = (id: string, args: string) => ({
  type: "function_call",
  id: "fc_1",
  call_id: id,
  name: "read",
  arguments: args,
  status: "completed",
});
const responses: Wire = {
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

const wires: [ProviderApi, Wire][] = [
  ["anthropic-messages", anthropic],
  ["openai-chat", chat],
  ["openai-responses", responses],
];

interface Outcome {
  events: StreamEvent[];
  end: Extract<StreamEvent, { type: "done" | "error" }>;
  notices: ModelNotice[];
  waits: number[];
  client: ModelClient;
  model: CatalogueModel;
}

/** One request through the real SDK; the last reply is given for ever. */
async function ask(
  api: ProviderApi,
  replies: LoopbackReply[],
  retry: Partial<RetryPolicy> = {},
  parts: Partial<ModelRequest> = {},
): Promise<Outcome> {
  server = await loopbackServer((_request, index) => replies[Math.min(index, replies.length - 1)]!);
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
  return { events, end: events.at(-1) as Outcome["end"], notices, waits, client, model };
}

describe.each(wires)("over the wire, %s:", (api, wire) => {
  test("an answer has its usage and its cost", async () => {
    const { end } = await ask(api, [wire.text("yes")]);
    expect(end).toMatchObject({
      type: "done",
      message: { stopReason: "stop", usage: { input: 100, output: 20 } },
    });
    expect(end.message.usage.cost.total).toBeCloseTo(0.00014);
    expect(server!.requests[0]!.path).toBe(wire.path);
  });

  test("429 with retry-after, then an answer", async () => {
    const { end, waits } = await ask(api, [
      wire.error(429, "Slow down", { "retry-after": "7" }),
      wire.text("yes"),
    ]);
    expect(end).toMatchObject({ type: "done", message: { content: [{ type: "text", text: "yes" }] } });
    expect(waits).toEqual([7_000]);
  });

  test("529, then 500, then an answer", async () => {
    const { end, waits, notices } = await ask(api, [
      wire.error(529, "Overloaded"),
      wire.error(500, "Oh"),
      wire.text("yes"),
    ]);
    expect(end.type).toBe("done");
    expect(waits).toEqual([1_000, 2_000]);
    expect(notices).toMatchObject([
      { type: "retry", failure: { status: 529 } },
      { failure: { status: 500 } },
    ]);
  });

  test.each(["cut", "close"] as const)(
    "a stream that ends (%s) in the middle of a call, then a whole one",
    async (how) => {
      const { events, end } = await ask(api, [
        wire.call("c1", '{"path":"a', how),
        wire.call("c2", '{"path":"a.ts"}'),
      ]);
      expect(end.type).toBe("done");
      expect(toolCalls(end.message)).toMatchObject([{ id: "c2", name: "read", arguments: { path: "a.ts" } }]);
      expect(events.filter(({ type }) => type === "start")).toHaveLength(2);
      const whole = events.filter((event) => event.type === "tool_call" && event.toolCall !== undefined);
      expect(whole).toHaveLength(1);
    },
  );

  test("endless silence before the answer, then inside it, then an answer", async () => {
    const silent = { headers: { "content-type": "text/event-stream" }, end: "hang" as const };
    const replies = [silent, wire.call("c1", '{"pa', "hang"), wire.text("yes")];
    const { end, notices } = await ask(api, replies, { silenceMs: 300 });
    expect(end).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    // A busy machine may be silent for longer.
    expect(notices.length).toBeGreaterThanOrEqual(2);
    expect(new Set(notices.map(({ type }) => type))).toEqual(new Set(["retry"]));
  });

  test("a connection that is broken before a word, then an answer", async () => {
    const { end, notices } = await ask(api, [{ end: "refuse" }, wire.text("yes")]);
    expect(end.type).toBe("done");
    expect(notices).toMatchObject([{ type: "retry", attempt: 1 }]);
  });

  test.each<[string, number, string, number | undefined]>([
    ["Anthropic's", 400, "prompt is too long: 213462 tokens > 150000 maximum", 150_000],
    [
      "OpenAI's",
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130557 tokens.",
      128_000,
    ],
    ["OpenAI's without numbers", 400, "Your input exceeds the context window of this model", undefined],
    ["llama.cpp's, as a broken server", 500, "the request exceeds the available context size", undefined],
  ])(
    "an overflow in %s words is told at once, and its window learned",
    async (_whose, status, words, window) => {
      const { end, client, model, waits } = await ask(api, [wire.error(status, words)]);
      expect(end).toMatchObject({
        type: "error",
        failure: { kind: "inputTooLong", status },
        message: { errorMessage: words },
      });
      expect(client.sized(model).contextWindow).toBe(window ?? 200_000);
      expect([waits.length, server!.requests.length]).toEqual([0, 1]);
    },
  );

  test.each<[string, number, string, number | undefined]>([
    [
      "a window, a count",
      400,
      "Your messages come to 213,462 tokens; 150,000 is the most this model takes.",
      150_000,
    ],
    ["a code alone", 400, "INPUT_TOO_LONG", undefined],
    ["another language", 422, "输入的 token 数超出模型的最大长度", undefined],
    [
      "413 with a reason of tokens",
      413,
      "Request body too large for the model. Max size: 8000 tokens.",
      8_000,
    ],
    ["413 of text alone", 413, "Payload Too Large", undefined],
  ])(
    "an overflow that no row knows is told at once, and its window learned: %s",
    async (_what, status, words, window) => {
      const long = { messages: [{ role: "user" as const, content: "word ".repeat(25_000), timestamp: 0 }] };
      const { end, client, model, waits } = await ask(api, [wire.error(status, words)], {}, long);
      expect(end).toMatchObject({ type: "error", failure: { kind: "inputTooLong", status } });
      expect(client.sized(model).contextWindow).toBe(window ?? 200_000);
      expect([waits.length, server!.requests.length]).toEqual([0, 1]);
    },
  );

  test.each<[string, number, string, ModelFailure["kind"]]>([
    ["a field", 400, "tools.0.description: longer than the maximum of 1024 characters", "other"],
    ["a key", 401, "The token is too long to be a key", "other"],
    ["a deadline", 400, "context deadline exceeded", "other"],
    ["an image", 400, "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "other"],
    ["no reason, far from the window", 400, "Bad Request", "other"],
  ])("what only resembles an overflow is none: %s", async (_what, status, words, kind) => {
    const { end } = await ask(api, [wire.error(status, words)]);
    expect(end).toMatchObject({ type: "error", failure: { kind, status } });
  });

  test("a rate in other words is waited for", async () => {
    const slow = wire.error(400, "Input tokens per hour limit exceeded");
    const { end, waits } = await ask(api, [slow, wire.text("yes")]);
    expect([end.type, waits.length]).toEqual(["done", 1]);
  });

  test("a cap that is refused in other words is lowered below what the server names", async () => {
    const words = "max_tokens is too high. This model can write no more than 4096 tokens.";
    const { end } = await ask(api, [wire.error(400, words), wire.text("yes")]);
    expect(end.type).toBe("done");
    expect(server!.requests.map(({ body }) => wire.cap(body as never))).toEqual([20_000, 4_096]);
  });

  test("a refusal without a reason is an overflow near the window, by the client's estimate or the caller's count", async () => {
    const refusal = wire.error(400, "Bad Request");
    const long = { messages: [{ role: "user" as const, content: "word ".repeat(170_000), timestamp: 0 }] };
    const { end } = await ask(api, [refusal], {}, long);
    expect(end).toMatchObject({ failure: { kind: "inputTooLong", presumed: true } });
    await server?.close();
    const counted = await ask(api, [refusal], {}, { contextTokens: () => 170_000 });
    expect(counted.end).toMatchObject({ failure: { kind: "inputTooLong", presumed: true } });
  });

  test("413 with an image is too many bytes", async () => {
    const image = { type: "image" as const, data: "aGVsbG8=", mimeType: "image/png" };
    const withImage = { messages: [{ role: "user" as const, content: [image], timestamp: 0 }] };
    const { end } = await ask(api, [wire.error(413, "Payload Too Large")], {}, withImage);
    expect(end).toMatchObject({ failure: { kind: "bytesTooLarge", status: 413 } });
  });

  test("a cap that is too large is lowered", async () => {
    const words =
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.";
    const { end, notices } = await ask(api, [wire.error(400, words), wire.text("yes")]);
    expect(end.type).toBe("done");
    expect(server!.requests.map(({ body }) => wire.cap(body as never))).toEqual([20_000, 8_130]);
    expect(notices.map(({ type }) => type)).toEqual(["window_learned", "output_cap_lowered"]);
  });

  test("a refused key is an error without the key", async () => {
    const { end } = await ask(api, [wire.error(401, "Incorrect API key provided: sk-proj-abcdefgh12345678")]);
    expect(end).toMatchObject({
      failure: { kind: "other", status: 401, message: "Incorrect API key provided: [key]" },
    });
  });
});

test.each<[string, ProviderApi, LoopbackReply]>([
  [
    "z.ai's finish reason",
    "openai-chat",
    sse([chunk({ role: "assistant", content: "half" }), chunk({}, "model_context_window_exceeded"), done]),
  ],
  [
    "z.ai's usage above the window",
    "openai-chat",
    sse([
      chunk({ role: "assistant", content: "half" }, "stop"),
      {
        data: { choices: [], usage: { prompt_tokens: 200_001, completion_tokens: 2, total_tokens: 200_003 } },
      },
      done,
    ]),
  ],
  [
    "Xiaomi's empty answer",
    "openai-chat",
    sse([
      chunk({ role: "assistant", content: "" }, "length"),
      {
        data: { choices: [], usage: { prompt_tokens: 198_500, completion_tokens: 0, total_tokens: 198_500 } },
      },
      done,
    ]),
  ],
])("an overflow reported as a success: %s", async (_name, api, reply) => {
  const { end, notices } = await ask(
    api,
    [reply],
    {},
    { messages: [{ role: "user", content: "word ".repeat(30_000), timestamp: 0 }] },
  );
  expect(end).toMatchObject({
    type: "error",
    failure: { kind: "inputTooLong", silent: true },
    message: { stopReason: "error" },
  });
  expect(end.message.usage.input).toBeGreaterThan(0);
  expect(notices).toEqual([]);
});

test("Anthropic's word for a full window is an overflow", async () => {
  const start = { type: "content_block_start", index: 0, content_block: { type: "text", text: "half" } };
  const reply = typed([anthropicStart, start, ...anthropicEnd("model_context_window_exceeded")]);
  const { end } = await ask("anthropic-messages", [reply]);
  expect(end).toMatchObject({
    failure: { kind: "inputTooLong" },
    message: { usage: { input: 100, output: 20 } },
  });
});

test("llama.cpp's numbers are read from beside its words", async () => {
  const body = {
    error: {
      code: 400,
      message: "the request exceeds the available context size",
      type: "exceed_context_size_error",
      n_prompt_tokens: 14429,
      n_ctx: 8192,
    },
  };
  const { end } = await ask("openai-chat", [json(400, body)]);
  expect(end).toMatchObject({ failure: { kind: "inputTooLong", inputTokens: 14_429, windowTokens: 8_192 } });
});

test("a server that is not there is named as that", async () => {
  const { model } = await ask("openai-chat", [chat.text("yes")]);
  await server!.close();
  const client = new ModelClient({ retry: { maxRetries: 0 } });
  const seen: StreamEvent[] = [];
  for await (const event of client.stream({
    model,
    purpose: "turn",
    systemPrompt: "",
    tools: [],
    messages: [{ role: "user", content: "Hello", timestamp: 0 }],
  }))
    seen.push(event);
  expect(seen.at(-1)?.message.errorMessage).toContain(
    `Nobody listens at ${model.baseUrl}, where lab should be. Is the server running`,
  );
});

test("importing the package loads neither SDK", () => {
  const entry = new URL("../src/index.ts", import.meta.url).href;
  const program = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    await import(${JSON.stringify(entry)});
    console.log(JSON.stringify(seen.filter((url) => /node_modules\\/(openai|@anthropic-ai)\\//.test(url))), seen.length > 5);`;
  const options = ["--conditions=@bonsai-agent/source", "--input-type=module", "--eval", program];
  expect(execFileSync(process.execPath, options, { encoding: "utf8" }).trim()).toBe("[] true");
});
