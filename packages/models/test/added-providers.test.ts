import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  type AddedProvider,
  type CatalogueModel,
  defaultModel,
  finalEvent,
  isReachable,
  KeyFile,
  loadCatalogue,
  ModelClient,
  type Provider,
  usableModels,
} from "../src/index.ts";
import { scriptedProvider } from "../src/scripted/index.ts";

const home = mkdtempSync(join(tmpdir(), "bonsai-added-"));
const open = () => loadCatalogue({ home, env: {} });

const box: AddedProvider = {
  provider: "box",
  api: "openai-chat",
  baseUrl: "http://box.test/v1",
  headers: { "x-team": "a" },
  models: [
    { id: "m1", contextWindow: 8_000, headers: { "x-model": "1" } },
    { id: "m2", name: "Two" },
  ],
};

test("a reload reads models.json anew; what was added stays, and a file that is wrong changes nothing", async () => {
  const catalogue = await open();
  const has = (name: string) => catalogue.providers.some(({ provider }) => provider === name);
  const file = join(home, "models.json");
  onTestFinished(() => rmSync(file));
  const takeAway = catalogue.add(box);
  writeFileSync(file, JSON.stringify({ providers: [{ provider: "late", baseUrl: "http://late.test/v1" }] }));
  expect(has("late")).toBe(false);
  catalogue.reload();
  expect([has("late"), has("box")]).toEqual([true, true]);
  writeFileSync(file, "{");
  expect(() => catalogue.reload()).toThrow("Cannot parse");
  expect([has("late"), has("box")]).toEqual([true, true]);
  takeAway();
  expect([has("late"), has("box")]).toEqual([true, false]);
});

test("a provider that is added is found by name, and is gone when it is taken away", async () => {
  const catalogue = await open();
  const before = { providers: catalogue.providers, models: catalogue.models };
  const takeAway = catalogue.add(box);
  expect(catalogue.models.filter(({ provider }) => provider === "box")).toEqual([
    {
      provider: "box",
      id: "m1",
      name: "m1",
      api: "openai-chat",
      baseUrl: "http://box.test/v1",
      headers: { "x-team": "a", "x-model": "1" },
      contextWindow: 8_000,
      input: ["text"],
      reasoning: false,
    },
    expect.objectContaining({ id: "m2", name: "Two", headers: { "x-team": "a" } }),
  ]);
  expect(await catalogue.find("box/m1")).toMatchObject({ provider: "box", id: "m1" });
  expect(await catalogue.find("Two", { fetch: refuse })).toMatchObject({ id: "m2" });
  takeAway();
  takeAway();
  expect({ providers: catalogue.providers, models: catalogue.models }).toEqual(before);
  await expect(catalogue.find("box/m1")).rejects.toMatchObject({ code: "provider_unknown" });
});

const refuse: typeof fetch = () => Promise.reject(new Error("no network here"));

test("a change of a known provider reaches its models in the new way, and leaves the rest of them", async () => {
  const catalogue = await open();
  const [known] = catalogue.models.filter(({ provider }) => provider === "anthropic");
  const takeAway = catalogue.add({
    provider: "anthropic",
    baseUrl: "https://proxy.test",
    headers: { via: "p" },
  });
  const [changed] = catalogue.models.filter(({ provider }) => provider === "anthropic");
  expect(changed).toEqual({ ...known, baseUrl: "https://proxy.test", headers: { via: "p" } });
  takeAway();
  expect(catalogue.models.filter(({ provider }) => provider === "anthropic")[0]).toEqual(known);
});

test("models that are given take the place of those that were known", async () => {
  const catalogue = await open();
  catalogue.add({ provider: "anthropic", models: [{ id: "one" }] });
  expect(catalogue.models.filter(({ provider }) => provider === "anthropic")).toMatchObject([
    { id: "one", api: "anthropic-messages", apiKeyEnv: "ANTHROPIC_API_KEY" },
  ]);
});

test("a change whose provider is gone changes nothing, until it comes back", async () => {
  const catalogue = await open();
  const takeAway = catalogue.add(box);
  catalogue.add({ provider: "box", headers: { via: "p" } });
  const reached = () => catalogue.models.find(({ id }) => id === "m1")?.headers;
  expect(reached()).toEqual({ "x-team": "a", "x-model": "1", via: "p" });
  takeAway();
  expect(reached()).toBeUndefined();
});

test("Invariant: after additions are taken away, in whatever order, only what is left counts", async () => {
  const catalogue = await open();
  const addition = fc.record({
    provider: fc.constantFrom("anthropic", "box", "other"),
    baseUrl: fc.constantFrom("https://a.test", "https://b.test", undefined),
    api: fc.constantFrom("openai-chat" as const, undefined),
    headers: fc.option(fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom("1", "2")), {
      nil: undefined,
    }),
    models: fc.option(fc.array(fc.record({ id: fc.constantFrom("m", "n") }), { maxLength: 2 }), {
      nil: undefined,
    }),
  });
  const program = fc.array(fc.tuple(addition, fc.boolean(), fc.nat()), { maxLength: 8 });
  fc.assert(
    fc.property(program, (steps) => {
      const added = steps.map(([each, leaves, order]) => ({
        undo: catalogue.add(each),
        each,
        leaves,
        order,
      }));
      const leaving = added.filter(({ leaves }) => leaves).sort((a, b) => a.order - b.order);
      for (const { undo } of leaving) undo();
      const found = { providers: catalogue.providers, models: catalogue.models };
      for (const { undo } of added) undo();
      const again = added.filter(({ leaves }) => !leaves).map(({ each }) => catalogue.add(each));
      expect(found).toEqual({ providers: catalogue.providers, models: catalogue.models });
      for (const undo of again) undo();
    }),
  );
});

test("a key that is lent goes before all others, is written nowhere, and goes back", () => {
  const keys = new KeyFile({ home, env: { BOX_KEY: "from-environment" } });
  const provider = { provider: "box", api: "openai-chat" as const, baseUrl: "", apiKeyEnv: "BOX_KEY" };
  const first = keys.lend("box", "lent-1");
  const second = keys.lend("box", " lent-2 ");
  expect([keys.key(provider), keys.source(provider)]).toEqual(["lent-2", "lent"]);
  second();
  second();
  expect(keys.key(provider)).toBe("lent-1");
  first();
  expect([keys.key(provider), keys.source(provider)]).toEqual(["from-environment", "environment"]);
  expect(new KeyFile({ home, env: {} }).key(provider)).toBeUndefined();
  expect(() => keys.lend("box", "a b")).toThrow(expect.objectContaining({ code: "keys_invalid" }));
});

const own: CatalogueModel = {
  provider: "own",
  id: "m",
  name: "m",
  api: "extension",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 100_000,
};
const ask = (client: ModelClient, model: CatalogueModel) =>
  finalEvent(
    client.stream({
      model,
      purpose: "extension",
      systemPrompt: "",
      tools: [],
      messages: [{ role: "user", content: "Hi", timestamp: 0 }],
    }),
  );

test("the latest registration of a provider serves it, until it is undone", async () => {
  const client = new ModelClient();
  const says = (text: string): Provider => scriptedProvider(() => ({ text }));
  const first = client.serve("own", says("one"));
  const second = client.serve("own", says("two"));
  const said = async () => (await ask(client, own)).message.content;
  expect(await said()).toEqual([{ type: "text", text: "two" }]);
  second();
  expect(await said()).toEqual([{ type: "text", text: "one" }]);
  expect(await ask(client, { ...own, provider: "another" })).toMatchObject({
    failure: { code: "provider_gone" },
  });
  first();
  expect(await ask(client, own)).toMatchObject({
    type: "error",
    failure: { code: "provider_gone", message: expect.stringContaining("not loaded"), retryable: false },
  });
});

test("a served provider's models are usable without a server, and the default one is not sought there", async () => {
  const catalogue = await open();
  const keys = new KeyFile({ home, env: {} });
  catalogue.add({ provider: "own", api: "extension", baseUrl: "", models: [{ id: "m" }] });
  expect((await usableModels({ catalogue, keys, fetch: refuse })).map(({ model }) => model.id)).toEqual([
    "m",
  ]);
  expect((await defaultModel({ catalogue, keys, fetch: refuse }))?.model.id).toBe("m");
  expect(await catalogue.find("own/m", { fetch: refuse })).not.toHaveProperty("contextWindow");
});

test("a provider is reachable with a key, without need of one, or on this machine", () => {
  const keys = new KeyFile({ home, env: { KEY: "k" } });
  const at = (baseUrl: string, apiKeyEnv?: string) =>
    isReachable({ provider: "x", api: "openai-chat", baseUrl, apiKeyEnv }, keys);
  expect(at("https://a.test", "KEY")).toBe(true);
  expect(at("https://a.test", "NO_KEY")).toBe(false);
  expect(at("https://a.test")).toBe(true);
  expect(at("http://127.0.0.1:8000", "NO_KEY")).toBe(true);
});
