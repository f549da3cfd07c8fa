import { describe, expect, test } from "vitest";
import { builtIn, find, refused, server } from "./model-server.ts";

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
