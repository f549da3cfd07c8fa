import { describe, expect, test } from "vitest";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";
import { defaultModel, type UsableModel, usableModels, whyUnusable } from "../src/catalogue/usable-models.ts";
import type { KeyFile } from "../src/keys/keys.ts";
import type { CatalogueModel, ProviderConfig } from "../src/model.ts";
import { builtIn, refused, server } from "./model-server.ts";

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
