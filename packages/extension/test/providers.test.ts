import { type AssistantMessage, emptyUsage } from "@bonsai-agent/messages";
import { finalEvent, type StreamEvent } from "@bonsai-agent/models";
import { loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { registerProvider } from "../src/host/extension-providers.ts";
import type { ProviderOptions, ProviderStreamRequest } from "../src/index.ts";
import { ownModels } from "./opened-models.ts";

async function stage(env: Record<string, string> = {}) {
  const models = await ownModels({ env });
  const undos: { name: string; undo: () => void }[] = [];
  const register = (name: string, options: ProviderOptions) => {
    const undo = registerProvider(
      () => models,
      name,
      options,
      (error) => {
        throw error;
      },
    );
    undos.unshift({ name, undo });
    return undo;
  };
  /** Undoes all that was registered under the name. */
  const unregister = (name: string) => {
    for (const each of undos) if (each.name === name) each.undo();
  };
  const known = () => models.catalogue.models.filter(({ provider }) => provider === "mine");
  const ask = async (reference: string, signal?: AbortSignal) => {
    const model = await models.catalogue.find(reference);
    const events: StreamEvent[] = [];
    const request = { model, purpose: "extension" as const, systemPrompt: "Be brief.", tools: [] };
    const messages = [{ role: "user" as const, content: "Hi", timestamp: 0 }];
    const seen = async function* () {
      for await (const event of models.client.stream({ ...request, messages, signal })) {
        events.push(event);
        yield event;
      }
    };
    return { final: await finalEvent(seen()), events };
  };
  return { ...models, register, unregister, known, ask };
}

const answer = (parts: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text: "Good day." }],
  api: "mine",
  provider: "mine",
  model: "m",
  usage: { ...emptyUsage(), input: 10, output: 5 },
  stopReason: "stop",
  timestamp: 0,
  ...parts,
});

const models = [{ id: "m" }];

test("a provider's models are in the catalogue until its registration is undone", async () => {
  const { catalogue, register, known } = await stage();
  const undo = register("mine", {
    baseUrl: "https://mine.test/v1/",
    apiKey: "$MINE_KEY",
    api: "openai-completions",
    models: [{ id: "m", name: "M", contextWindow: 9_000, maxTokens: 900, cost: { input: 1, output: 2 } }],
  });
  expect(await catalogue.find("mine/m")).toEqual({
    provider: "mine",
    id: "m",
    name: "M",
    api: "openai-chat",
    apiKeyEnv: "MINE_KEY",
    needsKey: true,
    baseUrl: "https://mine.test/v1",
    contextWindow: 9_000,
    maxOutputTokens: 900,
    input: ["text"],
    reasoning: false,
    usdPerMillionTokens: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
  });
  undo();
  undo();
  expect(known()).toEqual([]);
});

test("a known provider is changed and comes back", async () => {
  const { catalogue, keys, register, unregister } = await stage({ ANTHROPIC_API_KEY: "from-env" });
  const before = catalogue.models;
  register("anthropic", { baseUrl: "https://proxy.test", apiKey: "own-key", headers: { via: "p" } });
  const [model] = catalogue.models.filter(({ provider }) => provider === "anthropic");
  expect(model).toMatchObject({
    api: "anthropic-messages",
    baseUrl: "https://proxy.test",
    headers: { via: "p" },
  });
  expect(keys.key(model!)).toBe("own-key");
  expect(catalogue.models).toHaveLength(before.length);
  unregister("anthropic");
  expect(catalogue.models).toEqual(before);
  expect(keys.key(model!)).toBe("from-env");
});

test("undoing takes away all that was registered under a name, and nothing else", async () => {
  const { catalogue, register, unregister, known } = await stage();
  register("mine", { baseUrl: "https://a.test", models });
  register("mine", { headers: { x: "1" } });
  register("other", { baseUrl: "https://b.test", models });
  unregister("mine");
  unregister("mine");
  expect(known()).toEqual([]);
  expect(catalogue.providers.some(({ provider }) => provider === "other")).toBe(true);
});

test("the protocol, the key and the headers reach the server", async () => {
  const chunk = (delta: object, finish: string | null = null) => ({
    data: {
      id: "1",
      object: "chat.completion.chunk",
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
  });
  const server = await loopbackServer(() => ({
    chunks: sseChunks([
      chunk({ role: "assistant", content: "Good " }),
      chunk({ content: "day." }, "stop"),
      { data: "[DONE]" },
    ]),
  }));
  onTestFinished(() => server.close());
  const { register, ask } = await stage();
  register("mine", {
    baseUrl: `${server.url}/v1`,
    apiKey: "literal-key",
    headers: { "x-team": "a" },
    models,
  });
  const { final } = await ask("mine/m");
  expect(final).toMatchObject({ type: "done", message: { content: [{ type: "text", text: "Good day." }] } });
  const asked = server.requests.find(({ path }) => path === "/v1/chat/completions");
  expect(asked?.headers).toMatchObject({ authorization: "Bearer literal-key", "x-team": "a" });
});

test("a stream of one's own gives the whole answer", async () => {
  const { register, ask } = await stage();
  const asked: ProviderStreamRequest[] = [];
  const content: AssistantMessage["content"] = [
    { type: "thinking", thinking: "Hm.", thinkingSignature: "s" },
    { type: "text", text: "I look." },
    { type: "toolCall", id: "c1", name: "ls", arguments: { path: "." } },
  ];
  register("mine", {
    apiKey: "literal-key",
    models: [{ id: "m", cost: { input: 1_000_000, output: 0 } }],
    async stream(request) {
      asked.push(request);
      return answer({ content, stopReason: "toolUse" });
    },
  });
  const { final, events } = await ask("mine/m");
  expect(asked).toMatchObject([
    {
      model: { provider: "mine", id: "m" },
      systemPrompt: "Be brief.",
      apiKey: "literal-key",
      thinking: "off",
    },
  ]);
  expect(asked[0]?.messages).toMatchObject([{ role: "user", content: "Hi" }]);
  expect(Object.isFrozen(asked[0]?.messages[0])).toBe(true);
  expect(final).toMatchObject({
    type: "done",
    message: { api: "extension", provider: "mine", model: "m", content, stopReason: "toolUse" },
  });
  expect(final.message.usage).toMatchObject({ input: 10, output: 5, totalTokens: 15, cost: { total: 10 } });
  expect(events.map(({ type }) => type)).toEqual(["start", "text", "tool_call", "tool_call", "done"]);
});

test("a stream of one's own is passed on as it comes, and its end counts", async () => {
  const { register, ask } = await stage();
  const content: AssistantMessage["content"] = [
    { type: "thinking", thinking: "Hm.", thinkingSignature: "signed" },
    { type: "text", text: "Good day." },
  ];
  register("mine", {
    models,
    async *stream() {
      const message = answer({ content });
      yield { type: "start", message };
      yield { type: "thinking", contentIndex: 0, delta: "Hm.", message };
      yield { type: "text", contentIndex: 1, delta: "Good ", message };
      yield { type: "text", contentIndex: 1, delta: "day.", message };
      yield { type: "done", message };
    },
  });
  const { final, events } = await ask("mine/m");
  expect(events.flatMap((event) => ("delta" in event ? [event.delta] : []))).toEqual([
    "Hm.",
    "Good ",
    "day.",
  ]);
  expect(final).toMatchObject({ type: "done", message: { content } });
});

const failures: [string, NonNullable<ProviderOptions["stream"]>, object][] = [
  [
    "an error as answer",
    async () => answer({ stopReason: "error", errorMessage: "no more" }),
    { message: "no more" },
  ],
  [
    "a throw",
    () => {
      throw new Error("broken");
    },
    { message: "broken" },
  ],
  [
    "a throw that looks like an overflow",
    () => {
      throw Object.assign(new Error("prompt is too long: 300 tokens > 200 maximum"), { status: 400 });
    },
    { kind: "inputTooLong" },
  ],
  [
    "a stream without an end",
    async function* () {
      yield { type: "text", contentIndex: 0, delta: "Go", message: answer() };
    },
    { message: expect.stringContaining("without a done or error event") },
  ],
  ["nothing", (async () => undefined) as never, { message: expect.stringContaining("returned undefined") }],
  [
    "a text without text",
    (async () => answer({ content: [{ type: "text" }] as never })) as never,
    { message: expect.stringContaining("content.0.text") },
  ],
  [
    "content of a kind that there is not",
    (async () => answer({ content: [{ type: "smell" }] as never })) as never,
    { message: expect.stringContaining("content.0.type") },
  ],
  [
    "a call of nothing",
    (async () => answer({ content: [{ type: "toolCall", id: "1" }] as never })) as never,
    { message: expect.stringContaining("content.0.name") },
  ],
  [
    "no answer",
    (async () => ({ text: "Hi" })) as never,
    { message: expect.stringContaining("returned object") },
  ],
];

test.each(failures)(
  "a stream of one's own that fails is a failed request: %s",
  async (_name, stream, failure) => {
    const { register, ask } = await stage();
    register("mine", { models, stream });
    expect((await ask("mine/m")).final).toMatchObject({
      type: "error",
      message: { stopReason: "error" },
      failure,
    });
  },
);

test("a usage with counts that are none is ignored", async () => {
  const { register, ask } = await stage();
  const usage = { input: 5, output: "many", cacheRead: Number.NaN, cost: null };
  register("mine", { models, stream: async () => answer({ usage: usage as never }) });
  expect((await ask("mine/m")).final).toMatchObject({
    message: { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } },
  });
});

test("an abort ends a stream that does not listen", async () => {
  const { register, ask } = await stage();
  const stop = new AbortController();
  register("mine", {
    models,
    stream: () => {
      stop.abort();
      return new Promise(() => {});
    },
  });
  expect((await ask("mine/m", stop.signal)).final).toMatchObject({ message: { stopReason: "aborted" } });
});

test("once it is undone, its models cannot be asked any more", async () => {
  const { catalogue, client, register } = await stage();
  const undo = register("mine", { models, stream: async () => answer() });
  const model = await catalogue.find("mine/m");
  undo();
  const request = { model, purpose: "turn" as const, systemPrompt: "", tools: [], messages: [] };
  expect(await finalEvent(client.stream(request))).toMatchObject({ failure: { code: "provider_gone" } });
});

const bad: [string, unknown, unknown, string][] = [
  ["no address", "mine", {}, "baseUrl is missing"],
  ["a name with a slash", "a/b", { baseUrl: "https://a.test" }, "the name is not valid"],
  ["no name", undefined, { baseUrl: "https://a.test" }, "without a name"],
  ["no options", "mine", undefined, "the options"],
  ["an address that is none", "mine", { baseUrl: "box:80" }, "http or https"],
  ["a user in the address", "mine", { baseUrl: "https://me:verysecret@a.test" }, "http or https"],
  ["an unknown protocol", "mine", { baseUrl: "https://a.test", api: "soap" }, '"soap"'],
  [
    "a model's unknown protocol",
    "mine",
    { baseUrl: "https://a.test", models: [{ id: "m", api: "soap" }] },
    '"soap"',
  ],
  ["a model without an id", "mine", { baseUrl: "https://a.test", models: [{}] }, "models.0.id"],
  [
    "a negative price",
    "mine",
    { baseUrl: "https://a.test", models: [{ id: "m", cost: { input: -1, output: 0 } }] },
    "models.0.cost.input",
  ],
  [
    "a window that is none",
    "mine",
    { baseUrl: "https://a.test", models: [{ id: "m", contextWindow: 1.5 }] },
    "models.0.contextWindow",
  ],
  [
    "a header that is no text",
    "mine",
    { baseUrl: "https://a.test", headers: { a: ["verysecret"] } },
    "headers.a",
  ],
  ["a key that is no text", "mine", { baseUrl: "https://a.test", apiKey: { key: "verysecret" } }, "apiKey"],
  [
    "a command for a key",
    "mine",
    { baseUrl: "https://a.test", apiKey: "!cat verysecret" },
    "apiKey is a command",
  ],
  ["a stream that is no function", "mine", { stream: {} }, "stream"],
];

test.each(bad)("wrong options change nothing and show no secret: %s", async (_name, name, options, words) => {
  const { catalogue, register } = await stage();
  const before = catalogue.providers;
  const attempt = () => register(name as string, options as ProviderOptions);
  expect(attempt).toThrow(expect.objectContaining({ code: "provider_options_invalid" }));
  expect(attempt).toThrow(words);
  expect(attempt).not.toThrow("verysecret");
  expect(catalogue.providers).toBe(before);
});

test("a key that none can be is refused, and nothing has changed", async () => {
  const { register, known } = await stage();
  const attempt = () => register("mine", { baseUrl: "https://a.test", apiKey: "very secret", models });
  expect(attempt).toThrow(expect.objectContaining({ code: "keys_invalid" }));
  expect(attempt).not.toThrow("very secret");
  expect(known()).toEqual([]);
});

test("0 stands for a size that is not known", async () => {
  const { register, known } = await stage();
  register("mine", { baseUrl: "https://a.test", models: [{ id: "m", contextWindow: 0, maxTokens: 0 }] });
  expect(known()[0]).not.toHaveProperty("contextWindow");
});

test.each([
  ["on this machine", "http://127.0.0.1:9/v1", undefined],
  ["elsewhere", "https://a.test", undefined],
  ["answered by the extension itself", "http://127.0.0.1:9/v1", async function* () {}],
])(
  "a variable that is named for the key is wanted, and named where it is not set: %s",
  async (_where, baseUrl, stream) => {
    const { register, ask } = await stage();
    register("mine", { baseUrl, apiKey: "$MINE_KEY", models, ...(stream && { stream: stream as never }) });
    const { final } = await ask(`mine/${models[0]!.id}`);
    expect(final).toMatchObject({
      type: "error",
      failure: { code: "key_missing", message: expect.stringContaining("MINE_KEY") },
    });
  },
);

test.each([null, undefined, 5, "many", [1], { input: "12" }])(
  "a provider's setUsage(%j) does not end the answer",
  async (counts) => {
    const { register, ask } = await stage();
    register("mine", {
      models,
      stream: async function* (_request, own) {
        own.setUsage(counts as never);
        yield own.text("Here.");
        own.stop("stop");
      } as NonNullable<Parameters<typeof register>[1]["stream"]>,
    });
    expect((await ask("mine/m")).final).toMatchObject({
      type: "done",
      message: { content: [{ text: "Here." }], usage: { totalTokens: 0 } },
    });
  },
);
