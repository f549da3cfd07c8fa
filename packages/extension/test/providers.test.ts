import { finalEvent } from "@bonsai-agent/models";
import { everyRow, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { ExtensionAPI, ProviderOptions } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { answer, models, providerStage } from "./provider-stage.ts";

test("a provider's models are in the catalogue until its registration is undone", async () => {
  const { catalogue, register, known } = await providerStage();
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

test("a known provider is changed and restored", async () => {
  const { catalogue, keys, register, unregister } = await providerStage({ ANTHROPIC_API_KEY: "from-env" });
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

test("undoing removes all registrations of a name, and nothing else", async () => {
  const { catalogue, register, unregister, known } = await providerStage();
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
  const { register, ask } = await providerStage();
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

test("models cannot be asked after their provider was removed", async () => {
  const { catalogue, client, register } = await providerStage();
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

test("wrong options change nothing and show no secret", () =>
  everyRow(bad)(async ([_name, name, options, words]) => {
    const { catalogue, register } = await providerStage();
    const before = catalogue.providers;
    const attempt = () => register(name as string, options as ProviderOptions);
    expect(attempt).toThrow(expect.objectContaining({ code: "provider_options_invalid" }));
    expect(attempt).toThrow(words);
    expect(attempt).not.toThrow("verysecret");
    expect(catalogue.providers).toBe(before);
  }));

test("an invalid key is refused, and nothing changes", async () => {
  const { register, known } = await providerStage();
  const attempt = () => register("mine", { baseUrl: "https://a.test", apiKey: "very secret", models });
  expect(attempt).toThrow(expect.objectContaining({ code: "keys_invalid" }));
  expect(attempt).not.toThrow("very secret");
  expect(known()).toEqual([]);
});

test("0 means an unknown size", async () => {
  const { register, known } = await providerStage();
  register("mine", { baseUrl: "https://a.test", models: [{ id: "m", contextWindow: 0, maxTokens: 0 }] });
  expect(known()[0]).not.toHaveProperty("contextWindow");
});

test("a missing key variable is named", () =>
  everyRow([
    ["on this machine", "http://127.0.0.1:9/v1", undefined],
    ["elsewhere", "https://a.test", undefined],
    ["answered by the extension itself", "http://127.0.0.1:9/v1", async function* () {}],
  ])(async ([_where, baseUrl, stream]) => {
    const { register, ask } = await providerStage();
    register("mine", { baseUrl, apiKey: "$MINE_KEY", models, ...(stream && { stream: stream as never }) });
    const { final } = await ask(`mine/${models[0]!.id}`);
    expect(final).toMatchObject({
      type: "error",
      failure: { code: "key_missing", message: expect.stringContaining("MINE_KEY") },
    });
  }));

test("a second registration adds to the first; each extension can only remove its own", async () => {
  const apis: ExtensionAPI[] = [];
  const holding = (bonsai: ExtensionAPI) => void apis.push(bonsai);
  await using session = await openTestSession({
    extensions: [
      holding,
      holding,
      (bonsai) =>
        void bonsai.registerCommand("look", {
          handler: (_args, { ui, modelRegistry }) =>
            ui.notify(JSON.stringify([modelRegistry.find("near", "m")?.baseUrl ?? null])),
        }),
    ],
    ui: {},
  });
  const [one, other] = apis as [ExtensionAPI, ExtensionAPI];
  const url = async () => {
    await session.command("/look");
    return JSON.parse(String(session.ui.at(-1)?.args[0]))[0];
  };
  one.registerProvider("near", { baseUrl: "http://127.0.0.1:1/v1", api: "openai-chat", models });
  expect(await url()).toBe("http://127.0.0.1:1/v1");
  one.registerProvider("near", { baseUrl: "http://127.0.0.1:1/v2" });
  expect(await url()).toBe("http://127.0.0.1:1/v2");
  other.unregisterProvider("near");
  expect(await url()).toBe("http://127.0.0.1:1/v2");
  one.unregisterProvider("near");
  one.unregisterProvider("near");
  expect(await url()).toBeNull();
  const undo = one.registerProvider("near", { baseUrl: "http://127.0.0.1:1/v1", api: "openai-chat", models });
  undo();
  expect(await url()).toBeNull();
  one.registerProvider("near", { baseUrl: "http://127.0.0.1:1/v1", api: "openai-chat", models });
  session.extensions.unload();
  await expect(session.command("/look")).rejects.toMatchObject({ code: "extension_command_unknown" });
});
