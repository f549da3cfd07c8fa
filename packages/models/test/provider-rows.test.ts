import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow, type LoopbackReply, type LoopbackRequest, loopbackServer } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { finalEvent, loadCatalogue, ModelClient, type ThinkingLevel } from "../src/index.ts";
import { delta, finish, readTool, responseEnd, responsesOf, streamOf, turnOf } from "./openai-exchange.ts";
import { eventStream } from "./provider-exchange.ts";

const catalogue = await loadCatalogue({ home: mkdtempSync(join(tmpdir(), "bonsai-rows-")), env: {} });

/** An answer in the protocol that the path is of. */
function answer({ path }: LoopbackRequest): LoopbackReply {
  if (path.endsWith("/chat/completions")) return streamOf([delta({ content: "Hi" }), finish(), "[DONE]"]);
  if (path.endsWith("/responses")) return responsesOf([responseEnd()]);
  const start = { type: "message_start", message: { role: "assistant", content: [], usage: {} } };
  const events = [
    start,
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ];
  return eventStream(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
}

/** What the provider's server gets of a request, beside the model, the messages and the tools. */
async function sentTo(provider: string, thinking: ThinkingLevel, id?: string) {
  const server = await loopbackServer(answer);
  onTestFinished(() => server.close());
  const config = catalogue.providers.find((each) => each.provider === provider)!;
  const listed = catalogue.models.find((each) => each.provider === provider && (id ?? each.id) === each.id);
  const model = listed ?? {
    ...config,
    id: id ?? "some/model",
    name: "Some",
    input: ["text" as const],
    reasoning: false,
  };
  const { pathname } = new URL(config.baseUrl);
  const client = new ModelClient({ keys: { key: () => "key-1" }, retry: { maxRetries: 0 } });
  const stream = client.stream(
    turnOf(
      { ...model, baseUrl: `${server.url}${pathname.replace(/\/$/, "")}` },
      { systemPrompt: "Be brief.", tools: [readTool], maxOutputTokens: 4_000, thinking },
    ),
  );
  await finalEvent(stream);
  const request = server.requests[0]!;
  const {
    model: named,
    messages,
    tools,
    system,
    input,
    instructions,
    stream: isStream,
    ...fields
  } = request.body as Record<string, unknown>;
  expect(named).toBe(model.id);
  expect(isStream).toBe(true);
  expect(JSON.stringify([messages, input, system, instructions])).toContain("Hello");
  expect(JSON.stringify(tools)).toContain("Reads a file.");
  const first = (messages as { role: string }[] | undefined)?.[0]?.role;
  const { authorization, "x-api-key": key } = request.headers;
  return { path: request.path, role: first, auth: authorization ?? key, fields };
}

const usage = { stream_options: { include_usage: true } };
const chat = { max_tokens: 4_000, ...usage };
const completion = { max_completion_tokens: 4_000, ...usage };

describe("each provider gets a request in its own terms", () => {
  test("each provider gets its own fields for thinking", () =>
    everyRow<[provider: string, path: string, off: object, high: object]>([
      [
        "cerebras",
        "/v1",
        { ...completion, reasoning_effort: "none" },
        { ...completion, reasoning_effort: "high" },
      ],
      [
        "fireworks",
        "/inference/v1",
        { ...chat, reasoning_effort: "low" },
        { ...chat, reasoning_effort: "high" },
      ],
      [
        "together",
        "/v1",
        { ...chat, reasoning: { enabled: false } },
        { ...chat, reasoning: { enabled: true } },
      ],
      ["baseten", "/v1", { ...chat, reasoning_effort: "low" }, { ...chat, reasoning_effort: "high" }],
      ["kimi-coding", "/coding/v1", chat, chat],
      [
        "xiaomi",
        "/v1",
        { ...chat, thinking: { type: "disabled" } },
        { ...chat, thinking: { type: "enabled" } },
      ],
      ["nvidia", "/v1", chat, chat],
      ["vercel-ai-gateway", "/v1", chat, { ...chat, reasoning: { effort: "high" } }],
      [
        "cohere",
        "/compatibility/v1",
        { max_tokens: 4_000, reasoning_effort: "none" },
        { max_tokens: 4_000, reasoning_effort: "high" },
      ],
      ["sambanova", "/v1", chat, chat],
      ["nebius", "/v1", chat, chat],
      ["deepinfra", "/v1/openai", chat, chat],
      ["ollama-cloud", "/v1", chat, chat],
      ["huggingface", "/v1", { ...chat, reasoning_effort: "low" }, { ...chat, reasoning_effort: "high" }],
      ["github-models", "/inference", chat, chat],
      ["groq", "/openai/v1", completion, completion],
      ["mistral", "/v1", { max_tokens: 4_000 }, { max_tokens: 4_000 }],
      ["xai", "/v1", { ...completion, reasoning_effort: "low" }, { ...completion, reasoning_effort: "high" }],
    ])(async ([provider, path, off, high]) => {
      const expected = { path: `${path}/chat/completions`, role: "system", auth: "Bearer key-1" };
      expect(await sentTo(provider, "off")).toEqual({ ...expected, fields: off });
      expect(await sentTo(provider, "high")).toEqual({ ...expected, fields: high });
    }));

  test("each model gets its own fields for thinking", () =>
    everyRow([
      ["together", "openai/gpt-oss-120b", "off", { reasoning_effort: "low" }],
      [
        "together",
        "deepseek-ai/DeepSeek-V4-Pro-0813",
        "high",
        { reasoning: { enabled: true }, reasoning_effort: "high" },
      ],
      ["fireworks", "accounts/fireworks/models/deepseek-v4p1-flash", "off", { reasoning_effort: "none" }],
      ["fireworks", "accounts/fireworks/models/glm-5p3", "xhigh", { reasoning_effort: "max" }],
      ["cerebras", "gpt-oss-120b", "off", { reasoning_effort: "low" }],
      ["huggingface", "Qwen/Qwen3-Coder-Next", "high", {}],
      ["baseten", "deepseek-ai/DeepSeek-V4-Pro-0813", "off", { reasoning_effort: "none" }],
    ] as const)(async ([provider, id, level, fields]) => {
      const { fields: sent } = await sentTo(provider, level, id);
      const base = provider === "cerebras" ? completion : chat;
      expect(sent).toEqual({ ...base, ...fields });
    }));

  test("cohere gets no effort for a model that does not think", async () => {
    expect((await sentTo("cohere", "high", "command-a-03-2025")).fields).toEqual({ max_tokens: 4_000 });
  });

  test("perplexity and meta in Responses, minimax in Anthropic Messages", async () => {
    expect(await sentTo("perplexity", "high")).toMatchObject({
      path: "/v1/responses",
      auth: "Bearer key-1",
      fields: { store: false, max_output_tokens: 4_000, reasoning: { effort: "high" } },
    });
    expect(await sentTo("meta", "minimal")).toMatchObject({
      path: "/v1/responses",
      fields: { reasoning: { effort: "minimal" } },
    });
    expect(await sentTo("minimax", "low")).toMatchObject({
      path: "/anthropic/v1/messages",
      auth: "Bearer key-1",
      fields: { max_tokens: 4_000, thinking: { type: "enabled" } },
    });
  });
});

test("a provider without a list of models is asked for its own; sizes are read in each one's words", async () => {
  const list = [
    { id: "a", context_length: 32_768 },
    { id: "b", metadata: { context_length: 65_536, max_tokens: 8_192 } },
    { id: "c", providers: [{ context_length: 131_072 }, { context_length: 40_960 }, {}] },
    { id: "d", limits: { max_input_tokens: 1_000_000, max_output_tokens: 16_384 } },
    { id: "e-embed" },
  ];
  const { serverModels } = await import("../src/catalogue/server-models.ts");
  for (const body of [list, { data: list }, { models: list }]) {
    const server = await loopbackServer(() => ({ chunks: [JSON.stringify(body)] }));
    onTestFinished(() => server.close());
    const config = catalogue.providers.find(({ provider }) => provider === "deepinfra")!;
    const provider = { ...config, baseUrl: server.url };
    const found = await serverModels({ provider, apiKey: "key-1", signal: new AbortController().signal });
    expect(found).toEqual([
      { id: "a", contextWindow: 32_768, maxOutputTokens: undefined },
      { id: "b", contextWindow: 65_536, maxOutputTokens: 8_192 },
      { id: "c", contextWindow: 40_960, maxOutputTokens: undefined },
      { id: "d", contextWindow: 1_000_000, maxOutputTokens: 16_384 },
    ]);
  }
});
