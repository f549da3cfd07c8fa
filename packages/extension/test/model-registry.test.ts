import type { AgentNotice } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { type CatalogueModel, ProviderError } from "@bonsai-agent/models";
import { scriptedProvider } from "@bonsai-agent/models/scripted";
import { expect, test } from "vitest";
import { modelRegistryOf, openModels } from "../src/host/model-registry.ts";
import { ownModels } from "./opened-models.ts";

async function stage(
  play: Parameters<typeof scriptedProvider>[0] = () => ({ text: "Good day." }),
  current?: CatalogueModel,
) {
  const models = await ownModels({
    env: { OPENAI_API_KEY: "verysecret" },
    providers: { scripted: async () => scriptedProvider(play) },
    retry: { maxRetries: 1, baseDelayMs: 1 },
  });
  models.catalogue.add({
    provider: "played",
    api: "scripted",
    baseUrl: "x",
    models: [{ id: "m", contextWindow: 50_000 }],
  });
  const notices: AgentNotice[] = [];
  const opened = await openModels({ models: async () => models });
  const registry = modelRegistryOf({
    models: opened,
    current: () => current,
    onNotice: (notice) => void notices.push(notice),
  });
  return { ...models, registry, notices, played: registry.find("played", "m")! };
}

const context = {
  systemPrompt: "Be brief.",
  messages: [{ role: "user" as const, content: "Hi", timestamp: 0 }],
};

test("lists all models, the available ones, and finds one by its name", async () => {
  const { registry, catalogue } = await stage();
  expect(registry.getAll()).toEqual(catalogue.models);
  const providers = new Set(registry.getAvailable().map(({ provider }) => provider));
  expect(providers.has("openai")).toBe(true);
  expect(providers.has("anthropic")).toBe(false);
  expect(providers.has("played")).toBe(true);
  expect(registry.find("played", "m")).toMatchObject({ id: "m" });
  expect(registry.find("played", "other")).toBeUndefined();
  registry.getAll().length = 0;
  expect(registry.getAll()).not.toEqual([]);
});

test("finds the current model outside of the catalogue", async () => {
  const { played } = await stage();
  const current = { ...played, provider: "ollama", id: "qwen" };
  const { registry } = await stage(undefined, current);
  expect(registry.find("ollama", "qwen")).toEqual(current);
});

test("returns key and headers, or an error text without a key", async () => {
  const { registry, catalogue } = await stage();
  const of = (provider: string) => catalogue.models.find((model) => model.provider === provider)!;
  expect(registry.hasConfiguredAuth(of("openai"))).toBe(true);
  expect(registry.hasConfiguredAuth(of("anthropic"))).toBe(false);
  expect(await registry.getApiKeyForProvider("openai")).toBe("verysecret");
  expect(await registry.getApiKeyForProvider("anthropic")).toBeUndefined();
  expect(await registry.getApiKeyForProvider("nobody")).toBeUndefined();
  expect(await registry.getApiKeyAndHeaders({ ...of("openai"), headers: { x: "1" } })).toEqual({
    ok: true,
    apiKey: "verysecret",
    headers: { x: "1" },
    baseUrl: of("openai").baseUrl,
  });
  expect(await registry.getApiKeyAndHeaders(of("anthropic"))).toEqual({
    ok: false,
    error: "No API key for anthropic. To add one, set ANTHROPIC_API_KEY.",
  });
});

test("complete asks the model, apart from the conversation", async () => {
  const asked: unknown[] = [];
  const { registry, played } = await stage((call) => {
    asked.push(call);
    return { text: "Good day." };
  });
  const answer = await registry.complete(played, context, { maxTokens: 77 });
  expect(answer).toMatchObject({
    role: "assistant",
    content: [{ type: "text", text: "Good day." }],
    stopReason: "stop",
  });
  expect(asked).toMatchObject([
    { purpose: "extension", systemPrompt: "Be brief.", maxOutputTokens: 77, thinking: "off", tools: [] },
  ]);
});

test("a failed request is an answer with the reason; earlier attempts count in its usage", async () => {
  let attempts = 0;
  const { registry, played, notices } = await stage(() => {
    attempts += 1;
    if (attempts === 1) return { text: "Half", usage: { input: 100, output: 3 }, cut: true };
    return { text: "Whole", usage: { input: 100, output: 5 } };
  });
  const answer = await registry.complete(played, context);
  expect(answer.content).toEqual([{ type: "text", text: "Whole" }]);
  expect(notices).toMatchObject([{ code: "model_retry" }]);
  const refused = await stage(() => {
    throw new ProviderError({ kind: "refused", status: 400, message: "not that" });
  });
  expect(await refused.registry.complete(refused.played, context)).toMatchObject({
    stopReason: "error",
    errorMessage: expect.stringContaining("not that"),
  });
});

test("a request without a key is an answer with the reason", async () => {
  const { registry, catalogue } = await stage();
  const model = catalogue.models.find(({ provider }) => provider === "anthropic")!;
  expect(await registry.complete(model, context)).toMatchObject({
    stopReason: "error",
    errorMessage: expect.stringContaining("ANTHROPIC_API_KEY"),
  });
});

test("an abort ends a request and keeps the partial answer", async () => {
  const stop = new AbortController();
  const { registry, played } = await stage(() => ({ text: "Good day.", chunkChars: 4 }));
  const types: string[] = [];
  for await (const event of registry.stream(played, context, { signal: stop.signal })) {
    types.push(event.type);
    if (event.type === "text") stop.abort();
    if (event.type === "error") expect(event.message.stopReason).toBe("aborted");
  }
  expect(types).toEqual(["start", "text", "error"]);
  expect(await registry.complete(played, context, { signal: stop.signal })).toMatchObject({
    stopReason: "aborted",
  });
});

test("models that cannot be opened are an error only when they are used", async () => {
  const error = new BonsaiError({ code: "models_invalid", message: "models.json: no", hint: "Mend it." });
  const models = await openModels({ models: () => Promise.reject(error) });
  const registry = modelRegistryOf({ models, current: () => undefined, onNotice: () => {} });
  expect(() => registry.getAll()).toThrow(error);
  expect(() => registry.find("a", "b")).toThrow(error);
  const { played } = await stage();
  expect(await registry.getApiKeyAndHeaders(played)).toEqual({
    ok: false,
    error: "models.json: no Mend it.",
  });
  await expect(registry.complete(played, context)).rejects.toBe(error);
});
