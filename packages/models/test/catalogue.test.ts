import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";
import { defaultModels } from "../src/catalogue/usable-models.ts";
import { failure, homeWith, load } from "./home-with-models.ts";

/** No server answers. */
const nobody: typeof fetch = async () => {
  throw new TypeError("fetch failed");
};

test("a home that is a file has no models.json", async () => {
  const home = join(homeWith(), "file");
  writeFileSync(home, "");
  expect((await loadCatalogue({ home, env: {} })).models.length).toBeGreaterThan(0);
});

describe("the built-in catalogue", () => {
  test("has providers with keys, four local ones, and scenario files", async () => {
    const { asOf, providers, models } = await load();
    expect(asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
    const keyed = providers.filter(({ apiKeyEnv }) => apiKeyEnv !== undefined);
    expect(keyed.length).toBeGreaterThan(25);
    expect(new Set(providers.map(({ provider }) => provider)).size).toBe(providers.length);
    expect(providers.slice(keyed.length).map(({ provider, baseUrl }) => [provider, baseUrl])).toEqual([
      ["ollama", "http://127.0.0.1:11434/v1"],
      ["lmstudio", "http://127.0.0.1:1234/v1"],
      ["llamacpp", "http://127.0.0.1:8080/v1"],
      ["vllm", "http://127.0.0.1:8000/v1"],
      ["scripted", ""],
    ]);
    expect(models.length).toBeGreaterThan(400);
  });

  test("knows the cache rules of vendors' own servers", async () => {
    const { models } = await load();
    const rules = (provider: string, id: string) =>
      models.find((model) => model.provider === provider && model.id === id)?.cacheRules;
    expect(rules("anthropic", "claude-opus-5")).toMatchObject({ minimumTokens: 512, breakpoints: 4 });
    expect(rules("anthropic", "claude-haiku-4-5")).toMatchObject({ minimumTokens: 4_096, keptMs: 300_000 });
    expect(rules("openai", "gpt-5.6-sol")).toMatchObject({ keptMs: 1_800_000, breakpoints: 3 });
    expect(rules("openai", "gpt-5.5")).toMatchObject({ keptMs: 300_000, breakpoints: 0, isAutomatic: true });
    expect(rules("xai", models.find(({ provider }) => provider === "xai")!.id)).toBeUndefined();
    for (const { cacheRules, usdPerMillionTokens: prices, id } of models) {
      const [usual] = cacheRules?.lifetimes ?? [];
      expect(usual?.keptMs, id).toBe(usual && cacheRules?.keptMs);
      // A model that is charged for writing is charged as the rules say.
      const factor = usual?.writePriceFactor ?? 1;
      if (prices && prices.cacheWrite > 0 && factor > 1)
        expect(prices.cacheWrite / prices.input, id).toBeCloseTo(factor, 2);
    }
  });

  test("every model has sizes and prices that can be", async () => {
    for (const model of (await load()).models) {
      expect(model.id).toMatch(/^\S+$/);
      expect(model.name).not.toBe("");
      expect(model.contextWindow).toBeGreaterThan(0);
      expect(model.maxOutputTokens).toBeGreaterThan(0);
      expect(model.input).toContain("text");
      for (const price of Object.values(model.usdPerMillionTokens ?? {}))
        expect(price).toBeGreaterThanOrEqual(0);
    }
  });

  test("a model carries how its provider is reached", async () => {
    const { find } = await load();
    expect(await find("anthropic/claude-sonnet-5-5")).toEqual({
      provider: "anthropic",
      api: "anthropic-messages",
      baseUrl: "https://api.anthropic.com",
      apiKeyEnv: "ANTHROPIC_API_KEY",
      id: "claude-sonnet-5-5",
      name: "Claude Sonnet 5.5",
      contextWindow: 1_000_000,
      maxOutputTokens: 128_000,
      input: ["text", "image"],
      reasoning: true,
      usdPerMillionTokens: { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
      cacheRules: expect.objectContaining({ minimumTokens: 1_024 }),
    });
  });

  test("every default model is in it", async () => {
    const { models, providers } = await load();
    const known = models.map(({ provider, id }) => `${provider}/${id}`);
    for (const [provider, id] of defaultModels) expect(known).toContain(`${provider}/${id}`);
    // Those that were added by hand begin with their own first model.
    const { modelsData } = await import("../src/catalogue/models-data.ts");
    const { openrouterModelsData } = await import("../src/catalogue/openrouter-models-data.ts");
    const data = `${modelsData}${openrouterModelsData}`;
    const made = providers.filter(({ provider }) => data.includes(`\n${provider} `));
    expect(defaultModels.map(([provider]) => provider).sort()).toEqual(
      made.map(({ provider }) => provider).sort(),
    );
  });

  test("a name means one model, wherever else that model is served", async () => {
    const { models } = await load();
    const { moreModelsData } = await import("../src/catalogue/more-models-data.ts");
    const added = models.filter(({ provider }) => moreModelsData.includes(`\n${provider} `));
    const names = models.map(({ name }) => name.toLowerCase());
    for (const { name } of added) expect(names.filter((each) => each === name.toLowerCase())).toHaveLength(1);
    expect(added.length).toBeLessThan(70);
  });
});

describe("find", () => {
  test("finds a model by its reference", () =>
    everyRow([
      ["openrouter/z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"],
      ["groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"],
      ["  Anthropic/CLAUDE-sonnet-5 ", "anthropic/claude-sonnet-5"],
      ["gpt-6.1-sol", "openai/gpt-6.1-sol"],
      ["z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"],
      ["claude sonnet 5.5", "anthropic/claude-sonnet-5-5"],
      ["Kimi K3.1 Pro", "moonshotai/kimi-k3.1-pro"],
      // An id goes before the names of other models.
      ["GLM-5.3", "zai/glm-5.3"],
    ])(async ([reference, expected]) => {
      const { provider, id } = await (await load()).find(reference);
      expect(`${provider}/${id}`).toBe(expected);
    }));

  test("refuses a reference that names no model, and suggests others", () =>
    everyRow([
      ["claude-sonet-5-5", "model_unknown", "anthropic/claude-sonnet-5-5"],
      ["qqqq", "model_unknown", 'Unknown model "qqqq".'],
      ["", "model_unknown", 'Unknown model "".'],
      ["anthropic/", "model_unknown", '"anthropic/"'],
      ["antropic/claude-sonnet-5-5", "provider_unknown", "anthropic/claude-sonnet-5-5"],
      ["openia/gtp-5.2", "provider_unknown", "Similar models: openai/gpt-5.2"],
      ["nobody/nothing", "provider_unknown", "Known providers: anthropic, openai, google"],
    ])(async ([reference, code, told]) => {
      const { find } = await load();
      const error = await failure(find(reference));
      expect(error.code).toBe(code);
      expect(error.message).toContain(told);
      expect(`${error.message} ${error.hint} ${String(error.cause)}`).not.toContain("verysecret");
      expect(error.hint).not.toBe("");
    }));

  test("a name of several models is refused with all of them", async () => {
    const { find } = await load();
    const error = await failure(find("devstral 2"));
    expect(error.code).toBe("model_ambiguous");
    expect(error.message).toContain("mistral/devstral-2512, mistral/devstral-latest");
  });

  test("an unknown id of a known provider works, without a window", async () => {
    const { find } = await load();
    const model = await find("anthropic/claude-next", { fetch: nobody });
    expect(model).toMatchObject({ provider: "anthropic", id: "claude-next" });
    expect(model.input).toEqual(["text", "image"]);
    expect(model.usdPerMillionTokens).toBeUndefined();
    expect((await find("ollama/qwen", { fetch: nobody })).contextWindow).toBeUndefined();
  });
});

test("reads OLLAMA_HOST as Ollama does", () =>
  everyRow([
    ["", "http://127.0.0.1:11434/v1"],
    ["0.0.0.0", "http://127.0.0.1:11434/v1"],
    [":11500", "http://127.0.0.1:11500/v1"],
    ["box:80", "http://box/v1"],
    ["http://box:8080/", "http://box:8080/v1"],
    ["https://box/ollama", "https://box/ollama/v1"],
    ["::not a host::", "http://127.0.0.1:11434/v1"],
  ])(async ([host, baseUrl]) => {
    const { providers } = await load(undefined, { OLLAMA_HOST: host });
    expect(providers.find(({ provider }) => provider === "ollama")!.baseUrl).toBe(baseUrl);
  }));
