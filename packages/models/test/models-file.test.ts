import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { failure, load } from "./home-with-models.ts";

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

  test("says what a server keeps cached, as far as that is not the usual", async () => {
    const models = [
      { id: "a", cacheRules: { keptMs: 3_600_000 } },
      { id: "b", cacheRules: { minimumTokens: 4_096 } },
    ];
    const { find } = await load({
      providers: [{ provider: "box", baseUrl: "http://127.0.0.1:9999", models }],
    });
    expect((await find("box/a")).cacheRules).toEqual({ keptMs: 3_600_000, minimumTokens: 1_024 });
    expect((await find("box/b")).cacheRules).toEqual({ keptMs: 300_000, minimumTokens: 4_096 });
  });

  test("reads the compaction settings of a model, and refuses unknown ones", async () => {
    const provider = { provider: "box", baseUrl: "http://127.0.0.1:9999" };
    const compaction = {
      threshold: { rule: "size", sizeTokens: 90_000 },
      economy: "auto",
      keepRecentTokens: 8_000,
    };
    const { find } = await load({ providers: [{ ...provider, models: [{ id: "a", compaction }] }] });
    expect((await find("box/a")).compaction).toEqual(compaction);
    const wrong = { providers: [{ ...provider, models: [{ id: "a", compaction: { rule: "size" } }] }] };
    await expect(load(wrong)).rejects.toMatchObject({ code: "models_invalid" });
  });

  test("may begin with a byte-order mark", async () => {
    expect((await load('\ufeff{"providers": []}')).models.length).toBeGreaterThan(400);
  });

  const refuses =
    (code: string) =>
    async ([content, told]: [unknown, string]) => {
      const error = await failure(load(content));
      expect(error.code).toBe(code);
      expect(error.message).toContain("models.json");
      expect(error.message).toContain(told);
      expect(error.hint).not.toBe("");
    };
  const provider = { provider: "box", baseUrl: "http://127.0.0.1:1/v1" };
  const withModel = (model: unknown) => ({ providers: [{ ...provider, models: [model] }] });
  test("a file that is no JSON is refused with the place, without its values", () =>
    everyRow([
      ["{", "position 1 (line 1"],
      [
        '{"providers": [{"provider": "box", "headers": {"x": verysecret}}]}',
        "models.json: Unexpected token 'v'.",
      ],
    ])(refuses("models_unreadable")));

  test("a wrong value is refused with its place", () =>
    everyRow<[unknown, string]>([
      [
        withModel({ id: "a", contextWindow: 1e300 }),
        "contextWindow is 1e+300, but must be a number of at most 9007199254740991",
      ],
      [[], "the whole file is [], but must be an object"],
      [{}, "providers is missing, but must be a list"],
      [{ providers: [{}] }, "providers[0].provider is missing, but must be a string"],
      [{ providers: [{ provider: "a/b" }] }, 'providers[0].provider is "a/b"'],
      [{ providers: [{ provider: "box" }] }, "providers[0].baseUrl is missing, but must be an http"],
      [{ providers: [{ provider: "box", api: "scripted" }] }, "must be the path of a scenario"],
      [{ providers: [{ ...provider, baseUrl: "box:80" }] }, 'baseUrl is "box:80"'],
      [{ providers: [{ ...provider, baseUrl: "file:///etc" }] }, "must be an http or https"],
      [{ providers: [{ ...provider, api: "soap" }] }, 'api is "soap", but must be one of "anthropic'],
      [{ providers: [{ ...provider, url: 1 }] }, "unknown key providers[0].url. Known keys: provider, api"],
      [withModel({}), "providers[0].models[0].id is missing, but must be a string"],
      [withModel({ id: "" }), 'id is "", but must be a non-empty string'],
      [withModel({ id: "a", contextWindow: "200k" }), 'contextWindow is "200k", but must be a'],
      [withModel({ id: "a", contextWindow: 0 }), "contextWindow is 0, but must be a number above 0"],
      [withModel({ id: "a", contextWindow: 1.5 }), "1.5, but must be a whole number"],
      [withModel({ id: "a", contextwindow: 1 }), "Known keys: id, name, contextWindow"],
      [withModel({ id: "a", input: ["sound"] }), 'input[0] is "sound", but must be one of "text"'],
      [
        withModel({ id: "a", usdPerMillionTokens: { input: -1, output: 1 } }),
        "usdPerMillionTokens.input is -1, but must be a number of at least 0",
      ],
      [
        { providers: [{ ...provider, apiKeyEnv: "verysecret-1" }] },
        "apiKeyEnv is (hidden), but must be the name of an environment variable, not the key itself",
      ],
      [
        { providers: [{ ...provider, apiKey: "verysecret-1" }] },
        "unknown key providers[0].apiKey. Known keys: ",
      ],
      [
        { providers: [{ ...provider, headers: { authorization: ["verysecret-1"] } }] },
        "headers.authorization is (hidden), but must be a string",
      ],
      [
        { providers: [{ ...provider, baseUrl: "https://me:verysecret@box.example/v1" }] },
        'baseUrl is "https://me:[redacted: password]@box.example/v1", but must be an http or https address without a user name',
      ],
      [{ providers: [{ ...provider, note: "sk-verysecret-1" }] }, "unknown key providers[0].note"],
      [
        { providers: [{ ...provider, compat: { thinking: "hard" } }] },
        'compat.thinking is "hard", but must be one of "budget"',
      ],
      [
        { providers: [{ ...provider, compat: { thinking: "adaptive" } }] },
        'providers[0].compat.thinking is "adaptive", but openai-chat only allows "reasoning_effort"',
      ],
      [
        { providers: [{ provider: "anthropic", models: [{ id: "a", compat: { thinking: "switch" } }] }] },
        'providers[0].models[0].compat.thinking is "switch", but anthropic-messages only allows "budget"',
      ],
      [
        { providers: [{ ...provider, api: "openai-responses", compat: { thinking: "none" } }] },
        "openai-responses allows no value",
      ],
      [withModel({ id: "a", compat: { efforts: [] } }), "efforts is [], but must be a non-empty list"],
      [withModel({ id: "a", compat: { stream: 1 } }), "Known keys: thinking"],
    ])(refuses("models_invalid")));
});
