import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LoopbackReply, type LoopbackRequest, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";
import { defaultModel, type UsableModel, usableModels, whyUnusable } from "../src/catalogue/usable-models.ts";
import type { KeyFile } from "../src/keys/keys.ts";
import type { CatalogueModel, ProviderConfig } from "../src/model.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that answers by path (and query), 404 elsewhere. */
async function server(replies: Readonly<Record<string, unknown>>) {
  const answer = ({ path }: LoopbackRequest): LoopbackReply => {
    const reply = replies[path] ?? replies[path.split("?")[0]!];
    if (reply === undefined) return { status: 404, chunks: ["no such page"] };
    return isReply(reply) ? reply : { chunks: [JSON.stringify(reply)] };
  };
  const made = await loopbackServer(answer);
  closers.push(made.close);
  return made;
}

function isReply(reply: unknown): reply is LoopbackReply {
  return typeof reply === "object" && reply !== null && "end" in reply;
}

const { find, providers: builtIn } = await loadCatalogue({
  home: mkdtempSync(join(tmpdir(), "bonsai-servers-")),
  env: {},
});

/** The window that `find` returns if the provider's server gives these replies. */
async function windowOf(replies: Readonly<Record<string, unknown>>, id = "coder", provider = "vllm") {
  const { url, requests } = await server(replies);
  const base = builtIn.find((each) => each.provider === provider)!.baseUrl;
  const redirected: typeof fetch = (input, init) =>
    fetch(String(input).replace(new URL(base).origin, url), init);
  const model = await find(`${provider}/${id}`, { fetch: redirected, apiKey: () => "test-key" });
  return { model, window: model.contextWindow, requests };
}

const listed = (entry: object) => ({ "/v1/models": { object: "list", data: [{ id: "coder", ...entry }] } });

describe("the window of an unknown model is asked from its server", () => {
  test.each<[string, Record<string, unknown>, number | undefined]>([
    ["vLLM", listed({ max_model_len: 40_960 }), 40_960],
    ["a list with context_length", listed({ context_length: 65_536 }), 65_536],
    ["a list with context_window", listed({ context_window: 131_072 }), 131_072],
    ["a list with max_context_length", listed({ max_context_length: 9_000 }), 9_000],
    ["llama.cpp's list alone", listed({ meta: { n_ctx_train: 262_144 } }), 262_144],
    [
      "llama.cpp: what runs goes before what was trained",
      {
        ...listed({ meta: { n_ctx_train: 262_144 } }),
        "/props": { default_generation_settings: { n_ctx: 8_192 } },
      },
      8_192,
    ],
    [
      "LM Studio: loaded before possible",
      {
        ...listed({}),
        "/api/v0/models/coder": { id: "coder", loaded_context_length: 4_096, max_context_length: 131_072 },
      },
      4_096,
    ],
    [
      "LM Studio, not loaded",
      { "/api/v0/models/coder": { id: "coder", max_context_length: 131_072 } },
      131_072,
    ],
    [
      "Ollama: what is in memory goes first",
      {
        ...listed({ owned_by: "library" }),
        "/api/ps": { models: [{ name: "coder:latest", model: "coder:latest", context_length: 16_384 }] },
        "/api/show": { parameters: "num_ctx 32768", model_info: { "qwen3.context_length": 262_144 } },
      },
      16_384,
    ],
    [
      "Ollama: num_ctx before what the model was made for",
      {
        "/api/ps": { models: [] },
        "/api/show": {
          parameters: 'stop "x"\nnum_ctx                        32768',
          model_info: { "qwen3.context_length": 262_144 },
        },
      },
      32_768,
    ],
    [
      "Ollama's model_info alone",
      { "/api/show": { model_info: { "qwen3.context_length": 262_144 } } },
      262_144,
    ],
    ["another model's entry", { "/v1/models": { data: [{ id: "other", context_length: 1 }] } }, undefined],
    ["nonsense", { "/v1/models": { data: [null, 7, { id: "coder", context_length: "many" }] } }, undefined],
    ["a list that is none", { "/v1/models": { data: "none" } }, undefined],
    ["no JSON", { "/v1/models": { chunks: ["<html>"], end: "close" } }, undefined],
    ["a connection that breaks", { "/v1/models": { chunks: ["{"], end: "cut" } }, undefined],
    ["a refusal", { "/v1/models": { status: 401, chunks: ["no"], end: "close" } }, undefined],
  ])("%s", async (_name, replies, expected) => {
    expect((await windowOf(replies)).window).toBe(expected);
  });

  test("a provider with a key is asked for its list only, with the key", async () => {
    const { window, requests } = await windowOf(
      {
        "/openai/v1/models": {
          data: [{ id: "coder", context_window: 131_072, max_completion_tokens: 8_192 }],
        },
      },
      "coder",
      "groq",
    );
    expect(window).toBe(131_072);
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /openai/v1/models"]);
    expect(requests[0]!.headers.authorization).toBe("Bearer test-key");
  });

  test("Anthropic is asked for the one model, in its own way", async () => {
    const { model, requests } = await windowOf(
      { "/v1/models/claude-next": { id: "claude-next", max_input_tokens: 500_000, max_tokens: 64_000 } },
      "claude-next",
      "anthropic",
    );
    expect(model).toMatchObject({ contextWindow: 500_000, maxOutputTokens: 64_000 });
    expect(requests).toHaveLength(1);
    expect(requests[0]!.headers).toMatchObject({
      "x-api-key": "test-key",
      "anthropic-version": "2023-06-01",
    });
  });

  test("a redirection is not followed: it could carry the key away", async () => {
    const other = await server(listed({ context_window: 1_000 }));
    const redirection = { status: 307, headers: { location: `${other.url}/v1/models` }, end: "close" };
    expect((await windowOf({ "/openai/v1/models": redirection }, "coder", "groq")).window).toBeUndefined();
    expect(other.requests).toEqual([]);
  });

  test("a known window is not asked for", async () => {
    expect((await find("anthropic/claude-opus-5", { fetch: refused })).contextWindow).toBe(1_000_000);
  });
});

const keysOf = (...providers: string[]): Pick<KeyFile, "key" | "source"> => ({
  key: ({ provider }) => (providers.includes(provider) ? "k" : undefined),
  source: ({ provider }) => (providers.includes(provider) ? "file" : undefined),
});

/** Lists models by host; undefined for a server that does not answer. */
const listing =
  (lists: Readonly<Record<string, readonly object[]>>): typeof fetch =>
  async (url) => {
    const { host, pathname } = new URL(String(url));
    const data = lists[host];
    if (data === undefined) throw new TypeError("fetch failed");
    return pathname.endsWith("/models") ? Response.json({ data }) : new Response(null, { status: 404 });
  };
const silent = listing({});
const refused: typeof fetch = () => Promise.reject(new Error("asked"));

function modelOf(provider: ProviderConfig, id: string): CatalogueModel {
  return { ...provider, id, name: id, input: ["text"], reasoning: false };
}

const remote: ProviderConfig = {
  provider: "remote",
  api: "openai-chat",
  baseUrl: "https://remote.example/v1",
  apiKeyEnv: "REMOTE_KEY",
};
const local: ProviderConfig = { provider: "local", api: "openai-chat", baseUrl: "http://localhost:1/v1" };
const lan: ProviderConfig = { provider: "lan", api: "openai-chat", baseUrl: "http://box.example/v1" };
const played: ProviderConfig = { provider: "played", api: "scripted", baseUrl: "demo.json" };
const small = {
  providers: [local, remote, lan, played],
  models: [
    modelOf(remote, "r1"),
    modelOf(remote, "r2"),
    modelOf(local, "l1"),
    modelOf(lan, "n1"),
    modelOf(played, "p"),
  ],
};
const names = (usable: readonly UsableModel[]) => usable.map(({ model }) => `${model.provider}/${model.id}`);

describe("usable models", () => {
  test("is nothing without keys and servers, but for scenario files that are listed", async () => {
    const found = await usableModels({ catalogue: small, keys: keysOf(), fetch: silent });
    expect(names(found)).toEqual(["played/p"]);
  });

  test("is all of a provider with a key, and what a server without one has at hand", async () => {
    const fetch = listing({
      "localhost:1": [{ id: "l1", max_model_len: 4_096 }, { id: "l2" }],
      "box.example": [{ id: "n1" }],
    });
    const found = await usableModels({ catalogue: small, keys: keysOf("remote"), fetch });
    expect(names(found)).toEqual(["local/l1", "local/l2", "remote/r1", "remote/r2", "lan/n1", "played/p"]);
    expect(found.map(({ keyOrigin }) => keyOrigin)).toEqual([
      undefined,
      undefined,
      "file",
      "file",
      undefined,
      undefined,
    ]);
    expect(found[0]!.model.contextWindow).toBe(4_096);
  });

  test("a distant server that wants a key is not asked without one", async () => {
    const asked: string[] = [];
    const fetch: typeof globalThis.fetch = async (url) => {
      asked.push(new URL(String(url)).host);
      throw new TypeError("fetch failed");
    };
    await usableModels({ catalogue: small, keys: keysOf(), fetch });
    expect(asked).toEqual(["localhost:1", "box.example"]);
  });

  test("a server on this machine that wants a key is taken at its list, without asking", async () => {
    const proxy = { ...remote, baseUrl: "http://127.0.0.1:1/v1" };
    const catalogue = { providers: [proxy], models: [modelOf(proxy, "r1")] };
    const keys = keysOf("remote");
    expect(names(await usableModels({ catalogue, keys, fetch: refused }))).toEqual(["remote/r1"]);
    const fetch = listing({ "127.0.0.1:1": [{ id: "r2" }] });
    expect(names(await usableModels({ catalogue, keys: keysOf(), fetch }))).toEqual(["remote/r2"]);
  });

  test("servers are asked at once, and what cannot talk is left out", async () => {
    const { url, requests } = await server({
      "/v1/models": { data: [{ id: "text-embedding-nomic" }, { id: "qwen", max_model_len: 32_000 }] },
    });
    const box = { ...local, provider: "box", baseUrl: `${url}/v1` };
    const gone = { ...local, provider: "gone", baseUrl: "http://127.0.0.1:1/v1" };
    const found = await usableModels({ catalogue: { providers: [gone, box], models: [] }, keys: keysOf() });
    expect(names(found)).toEqual(["box/qwen"]);
    expect(found[0]!.model.contextWindow).toBe(32_000);
    expect(requests.map(({ path }) => path)).toContain("/api/ps");
  });

  test("a server that hangs is given up", async () => {
    const { url } = await server({ "/v1/models": { chunks: ["{"], end: "hang" } });
    const stuck = { ...local, baseUrl: `${url}/v1` };
    expect(await usableModels({ catalogue: { providers: [stuck], models: [] }, keys: keysOf() })).toEqual([]);
  });
});

describe("the default model", () => {
  const all = { providers: builtIn, models: [] as CatalogueModel[] };

  test("is that of the first provider with a key, and no server is asked", async () => {
    const { models } = await loadCatalogue({ home: "/nonexistent", env: {} });
    const catalogue = { ...all, models };
    const chosen = await defaultModel({ catalogue, keys: keysOf("openai", "groq"), fetch: refused });
    expect(chosen).toMatchObject({ model: { provider: "openai", id: "gpt-6.1-sol" }, keyOrigin: "file" });
    const other = await defaultModel({ catalogue, keys: keysOf("groq", "anthropic"), fetch: refused });
    expect(other!.model.id).toBe("claude-sonnet-5-5");
  });

  test("is a model with a key before one of a server, a server's first model before nothing", async () => {
    const fetch = listing({ "localhost:1": [{ id: "l2" }, { id: "l1" }] });
    const withKey = await defaultModel({ catalogue: small, keys: keysOf("remote"), fetch });
    expect(names([withKey!])).toEqual(["remote/r1"]);
    expect(names([(await defaultModel({ catalogue: small, keys: keysOf(), fetch }))!])).toEqual(["local/l2"]);
    expect(await defaultModel({ catalogue: all, keys: keysOf(), fetch: silent })).toBeUndefined();
  });
});

describe("why a model that is known cannot be asked", () => {
  test("without a key that it needs, it names the variable; with one, nothing is asked", async () => {
    const fetch = refused;
    const model = modelOf(remote, "r1");
    expect(await whyUnusable(model, { keys: keysOf(), fetch })).toBe(`${remote.apiKeyEnv} is not set`);
    expect(await whyUnusable(model, { keys: keysOf("remote"), fetch })).toBeUndefined();
  });

  test("a server that says anything is there; one that is not is named by its address", async () => {
    const { url } = await server({});
    const at = (baseUrl: string) => whyUnusable(modelOf({ ...local, baseUrl }, "l1"), { keys: keysOf() });
    expect(await at(`${url}/v1`)).toBeUndefined();
    expect(await at("http://127.0.0.1:1/v1")).toBe("no server answers at http://127.0.0.1:1/v1");
    expect(await at("http://no-such-host.invalid/v1")).toMatch(/^no server answers at/);
  });

  test("one on this machine that takes the connection and is slow is at work", async () => {
    const { url } = await server({ "/v1/models": { end: "hang" } });
    const model = modelOf({ ...local, baseUrl: `${url}/v1` }, "l1");
    expect(await whyUnusable(model, { keys: keysOf() })).toBeUndefined();
  });

  test("a scenario file is no server", async () => {
    expect(await whyUnusable(modelOf(played, "p"), { keys: keysOf() })).toBeUndefined();
  });
});
