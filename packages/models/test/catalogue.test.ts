import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";
import { defaultModels } from "../src/catalogue/usable-models.ts";

function homeWith(models?: unknown): string {
  const home = mkdtempSync(join(tmpdir(), "bonsai-catalogue-"));
  if (models !== undefined)
    writeFileSync(join(home, "models.json"), typeof models === "string" ? models : JSON.stringify(models));
  return home;
}

const load = (models?: unknown, env = {}) => loadCatalogue({ home: homeWith(models), env });

/** No server answers. */
const nobody: typeof fetch = async () => {
  throw new TypeError("fetch failed");
};

async function failure(work: Promise<unknown>): Promise<BonsaiError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!BonsaiError.is(error)) throw new Error(`No BonsaiError: ${String(error)}`);
  return error;
}

test("a home that is a file has no models.json", async () => {
  const home = join(homeWith(), "file");
  writeFileSync(home, "");
  expect((await loadCatalogue({ home, env: {} })).models.length).toBeGreaterThan(0);
});

describe("the built-in catalogue", () => {
  test("has ten providers with keys, four local ones, and scenario files", async () => {
    const { asOf, providers, models } = await load();
    expect(asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(providers.filter(({ apiKeyEnv }) => apiKeyEnv !== undefined)).toHaveLength(10);
    expect(providers.slice(10).map(({ provider, baseUrl }) => [provider, baseUrl])).toEqual([
      ["ollama", "http://127.0.0.1:11434/v1"],
      ["lmstudio", "http://127.0.0.1:1234/v1"],
      ["llamacpp", "http://127.0.0.1:8080/v1"],
      ["vllm", "http://127.0.0.1:8000/v1"],
      ["scripted", ""],
    ]);
    expect(models.length).toBeGreaterThan(400);
  });

  test("every model has sizes and prices that can be", async () => {
    for (const model of (await load()).models) {
      expect(model.id).toMatch(/^\S+$/);
      expect(model.name).not.toBe("");
      expect(model.contextWindow).toBeGreaterThan(0);
      expect(model.maxOutputTokens).toBeGreaterThan(0);
      expect(model.input).toContain("text");
      for (const price of Object.values(model.usdPerMillionTokens!)) expect(price).toBeGreaterThanOrEqual(0);
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
    });
  });

  test("every default model is in it", async () => {
    const { models, providers } = await load();
    const known = models.map(({ provider, id }) => `${provider}/${id}`);
    for (const [provider, id] of defaultModels) expect(known).toContain(`${provider}/${id}`);
    const withKey = providers.filter(({ apiKeyEnv }) => apiKeyEnv !== undefined);
    expect(defaultModels.map(([provider]) => provider).sort()).toEqual(
      withKey.map(({ provider }) => provider).sort(),
    );
  });
});

describe("find", () => {
  test.each([
    ["openrouter/z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"],
    ["groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"],
    ["  Anthropic/CLAUDE-sonnet-5 ", "anthropic/claude-sonnet-5"],
    ["gpt-6.1-sol", "openai/gpt-6.1-sol"],
    ["z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"],
    ["claude sonnet 5.5", "anthropic/claude-sonnet-5-5"],
    ["Kimi K3.1 Pro", "moonshotai/kimi-k3.1-pro"],
    // An id goes before the names of other models.
    ["GLM-5.3", "zai/glm-5.3"],
  ])("%j is %s", async (reference, expected) => {
    const { provider, id } = await (await load()).find(reference);
    expect(`${provider}/${id}`).toBe(expected);
  });

  test.each([
    ["claude-sonet-5-5", "model_unknown", "anthropic/claude-sonnet-5-5"],
    ["qqqq", "model_unknown", '"qqqq" is known.'],
    ["", "model_unknown", '"" is known'],
    ["anthropic/", "model_unknown", '"anthropic/"'],
    ["antropic/claude-sonnet-5-5", "provider_unknown", "anthropic/claude-sonnet-5-5"],
    ["nobody/nothing", "provider_unknown", "known are anthropic, openai, google"],
  ])("%j is refused: %s", async (reference, code, told) => {
    const { find } = await load();
    const error = await failure(find(reference));
    expect(error.code).toBe(code);
    expect(error.message).toContain(told);
    expect(`${error.message} ${error.hint} ${String(error.cause)}`).not.toContain("verysecret");
    expect(error.hint).not.toBe("");
  });

  test("a name of several models is refused with all of them", async () => {
    const { find } = await load();
    const error = await failure(find("devstral 2"));
    expect(error.code).toBe("model_ambiguous");
    expect(error.message).toContain("mistral/devstral-2512, mistral/devstral-latest");
  });

  test("an unknown id of a known provider works, with the window of the settings", async () => {
    const { find } = await load();
    const model = await find("anthropic/claude-next", { fetch: nobody, contextWindow: 123_456 });
    expect(model).toMatchObject({ provider: "anthropic", id: "claude-next", contextWindow: 123_456 });
    expect(model.input).toEqual(["text", "image"]);
    expect(model.usdPerMillionTokens).toBeUndefined();
    expect((await find("ollama/qwen", { fetch: nobody })).contextWindow).toBeUndefined();
  });

  test("an aborted question ends find", async () => {
    const { find } = await load();
    const aborted = AbortSignal.abort(new Error("enough"));
    await expect(find("ollama/qwen", { signal: aborted, fetch: nobody })).rejects.toThrow("enough");
  });
});

describe("models.json", () => {
  test("adds providers and models", async () => {
    const { find, providers } = await load({
      providers: [
        {
          provider: "box",
          baseUrl: "http://127.0.0.1:9999/v1/",
          headers: { "x-team": "blue" },
          models: [{ id: "org/coder", contextWindow: 32_768, usdPerMillionTokens: { input: 1, output: 2 } }],
        },
      ],
    });
    expect(await find("box/org/coder")).toEqual({
      provider: "box",
      api: "openai-chat",
      baseUrl: "http://127.0.0.1:9999/v1",
      headers: { "x-team": "blue" },
      id: "org/coder",
      name: "org/coder",
      contextWindow: 32_768,
      input: ["text"],
      reasoning: false,
      usdPerMillionTokens: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
    });
    expect(providers.at(-1)!.provider).toBe("box");
  });

  test("changes what is built in and leaves the rest", async () => {
    const { find, models } = await load({
      providers: [
        {
          provider: "anthropic",
          baseUrl: "https://proxy.example/anthropic",
          models: [{ id: "claude-sonnet-5-5", contextWindow: 200_000 }],
        },
      ],
    });
    const changed = await find("anthropic/claude-sonnet-5-5");
    expect(changed).toMatchObject({
      contextWindow: 200_000,
      maxOutputTokens: 128_000,
      name: "Claude Sonnet 5.5",
    });
    expect(changed.baseUrl).toBe("https://proxy.example/anthropic");
    const other = await find("anthropic/claude-opus-5");
    expect(other).toMatchObject({ baseUrl: "https://proxy.example/anthropic", contextWindow: 1_000_000 });
    expect(models).toHaveLength((await load()).models.length);
  });

  test("may begin with a byte-order mark", async () => {
    expect((await load('\ufeff{"providers": []}')).models.length).toBeGreaterThan(400);
  });

  const provider = { provider: "box", baseUrl: "http://127.0.0.1:1/v1" };
  const withModel = (model: unknown) => ({ providers: [{ ...provider, models: [model] }] });
  test.each([
    ["{", "models_unreadable", "models.json cannot be read as JSON"],
    [
      '{"providers": [{"provider": "box", "headers": {"x": verysecret}}]}',
      "models_unreadable",
      "models.json cannot be read as JSON: Unexpected token 'v' is not valid JSON.",
    ],
    [
      withModel({ id: "a", contextWindow: 1e300 }),
      "models_invalid",
      "contextWindow is 1e+300; allowed is a number of at most 9007199254740991",
    ],
    [[], "models_invalid", "the whole file is []; allowed is an object"],
    [{}, "models_invalid", "providers is nothing; allowed is a list"],
    [{ providers: [{}] }, "models_invalid", "providers[0].provider is nothing; allowed is a text"],
    [{ providers: [{ provider: "a/b" }] }, "models_invalid", 'providers[0].provider is "a/b"'],
    [
      { providers: [{ provider: "box" }] },
      "models_invalid",
      "providers[0].baseUrl is nothing; allowed is an http",
    ],
    [
      { providers: [{ provider: "box", api: "scripted" }] },
      "models_invalid",
      "allowed is the path of a scenario",
    ],
    [{ providers: [{ ...provider, baseUrl: "box:80" }] }, "models_invalid", 'baseUrl is "box:80"'],
    [
      { providers: [{ ...provider, baseUrl: "file:///etc" }] },
      "models_invalid",
      "allowed is an http or https",
    ],
    [
      { providers: [{ ...provider, api: "soap" }] },
      "models_invalid",
      'api is "soap"; allowed is one of "anthropic',
    ],
    [
      { providers: [{ ...provider, url: 1 }] },
      "models_invalid",
      "url is 1; allowed is one of the keys provider, api",
    ],
    [withModel({}), "models_invalid", "providers[0].models[0].id is nothing; allowed is a text"],
    [withModel({ id: "" }), "models_invalid", 'id is ""; allowed is a text that is not empty'],
    [
      withModel({ id: "a", contextWindow: "200k" }),
      "models_invalid",
      'contextWindow is "200k"; allowed is a',
    ],
    [
      withModel({ id: "a", contextWindow: 0 }),
      "models_invalid",
      "contextWindow is 0; allowed is a number above 0",
    ],
    [withModel({ id: "a", contextWindow: 1.5 }), "models_invalid", "1.5; allowed is a whole number"],
    [
      withModel({ id: "a", contextwindow: 1 }),
      "models_invalid",
      "allowed is one of the keys id, name, contextWindow",
    ],
    [
      withModel({ id: "a", input: ["sound"] }),
      "models_invalid",
      'input[0] is "sound"; allowed is one of "text"',
    ],
    [
      withModel({ id: "a", usdPerMillionTokens: { input: -1, output: 1 } }),
      "models_invalid",
      "usdPerMillionTokens.input is -1; allowed is a number of at least 0",
    ],
    [
      { providers: [{ ...provider, apiKeyEnv: "verysecret-1" }] },
      "models_invalid",
      "apiKeyEnv is a value that is not shown; allowed is the name of a variable, not the key itself",
    ],
    [
      { providers: [{ ...provider, apiKey: "verysecret-1" }] },
      "models_invalid",
      "providers[0].apiKey is a value that is not shown; allowed is one of the keys",
    ],
    [
      { providers: [{ ...provider, headers: { authorization: ["verysecret-1"] } }] },
      "models_invalid",
      "headers.authorization is a value that is not shown; allowed is a text",
    ],
    [
      { providers: [{ ...provider, baseUrl: "https://me:verysecret@box.example/v1" }] },
      "models_invalid",
      'baseUrl is "https://[key]@box.example/v1"; allowed is an http or https address without a user',
    ],
    [{ providers: [{ ...provider, note: "sk-verysecret-1" }] }, "models_invalid", 'note is "[key]"'],
    [
      { providers: [{ ...provider, compat: { thinking: "hard" } }] },
      "models_invalid",
      'compat.thinking is "hard"; allowed is one of "budget"',
    ],
    [
      { providers: [{ ...provider, compat: { thinking: "adaptive" } }] },
      "models_invalid",
      'providers[0].compat.thinking is "adaptive"; allowed with openai-chat is one of "reasoning_effort"',
    ],
    [
      { providers: [{ provider: "anthropic", models: [{ id: "a", compat: { thinking: "switch" } }] }] },
      "models_invalid",
      'providers[0].models[0].compat.thinking is "switch"; allowed with anthropic-messages is one of "budget"',
    ],
    [
      { providers: [{ ...provider, api: "openai-responses", compat: { thinking: "none" } }] },
      "models_invalid",
      "allowed with openai-responses is nothing",
    ],
    [
      withModel({ id: "a", compat: { efforts: [] } }),
      "models_invalid",
      "efforts is []; allowed is a list that is not empty",
    ],
    [withModel({ id: "a", compat: { stream: 1 } }), "models_invalid", "allowed is one of the keys thinking"],
  ])("%j is refused", async (content, code, told) => {
    const error = await failure(load(content));
    expect(error.code).toBe(code);
    expect(error.message).toContain("models.json");
    expect(error.message).toContain(told);
    expect(error.hint).not.toBe("");
  });
});

test.each([
  ["", "http://127.0.0.1:11434/v1"],
  ["0.0.0.0", "http://127.0.0.1:11434/v1"],
  [":11500", "http://127.0.0.1:11500/v1"],
  ["box:80", "http://box/v1"],
  ["http://box:8080/", "http://box:8080/v1"],
  ["https://box/ollama", "https://box/ollama/v1"],
  ["::not a host::", "http://127.0.0.1:11434/v1"],
])("OLLAMA_HOST=%j is %s", async (host, baseUrl) => {
  const { providers } = await load(undefined, { OLLAMA_HOST: host });
  expect(providers.find(({ provider }) => provider === "ollama")!.baseUrl).toBe(baseUrl);
});
