import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { KeyFile } from "../src/keys/keys.ts";
import { failure, homeWith, load } from "./home-with-models.ts";

const URL_OF_BOX = "http://127.0.0.1:9999/v1";

/** Built from parts, so that no scanner takes it for a key. */
const KEY = ["sk", "box", "0123456789abcdef"].join("-");

/** The example of pi's documents, with comments. */
const EXAMPLE = `{
  // a server of the house
  "$schema": "https://pi.dev/schemas/models.schema.json",
  "providers": {
    "box": {
      "name": "The box", "baseUrl": "${URL_OF_BOX}/", "api": "openai-completions",
      "apiKey": "$BOX_KEY", "authHeader": true,
      "headers": { "x-team": "$TEAM", "x-unset": "$UNSET", "x-plain": "a$$b" },
      "compat": { "supportsUsageInStreaming": false, "maxTokensField": "max_tokens", "requiresAssistantAfterToolResult": true, "supportsStore": false },
      "models": [
        {
          "id": "coder", "name": "Coder", "reasoning": true, "input": ["text", "image"],
          "contextWindow": 65536, "maxTokens": 8192, /* per answer */
          "cost": { "input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25, "tiers": [] },
          "thinkingLevelMap": { "off": "none", "low": "low", "high": "max", "xhigh": null },
          "compat": { "thinkingFormat": "openrouter" },
        },
        { "id": "other", "api": "anthropic-messages", "baseUrl": "http://127.0.0.1:8888/" },
        { "id": "odd", "api": "google-generative-ai" },
      ],
    },
    "anthropic": { "modelOverrides": { "claude-opus-5": { "name": "Opus", "maxTokens": 1000 }, "gone": { "name": "x" } } },
    "only-pi": { "apiKey": "x", "models": [{ "id": "g" }] },
  },
}`;

describe("a models.json of pi", () => {
  test("is taken as it is", async () => {
    const { find, models, providers } = await load(EXAMPLE, { TEAM: "blue" });
    const coder = await find("box/coder");
    expect(coder).toEqual({
      provider: "box",
      api: "openai-chat",
      baseUrl: URL_OF_BOX,
      apiKeyEnv: "BOX_KEY",
      authHeader: true,
      headers: { "x-team": "blue", "x-plain": "a$b" },
      id: "coder",
      name: "Coder",
      contextWindow: 65_536,
      maxOutputTokens: 8_192,
      input: ["text", "image"],
      reasoning: true,
      usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
      compat: {
        thinking: "reasoning",
        efforts: ["none", "low", "max"],
        maxTokensField: "max_tokens",
        streamOptions: false,
        userAfterResults: false,
      },
    });
    expect(models.find(({ id }) => id === "other")).toMatchObject({
      api: "anthropic-messages",
      baseUrl: "http://127.0.0.1:8888",
      apiKeyEnv: "BOX_KEY",
    });
    expect(models.find(({ id }) => id === "odd")?.missing).toContain(
      'providers.box.models[2].api is "google-generative-ai", but Bonsai only speaks openai-completions',
    );
    expect(models.find(({ id }) => id === "claude-opus-5")).toMatchObject({
      name: "Opus",
      maxOutputTokens: 1_000,
      contextWindow: 1_000_000,
    });
    expect(models.some(({ id }) => id === "gone" || id === "g")).toBe(false);
    expect(providers.some(({ provider }) => provider === "only-pi")).toBe(false);
  });

  test("a wrong value is an error that names it", () =>
    everyRow([
      [
        { box: { baseUrl: URL_OF_BOX, models: [{ id: 1 }] } },
        "providers.box.models[0].id is 1, but must be a string",
      ],
      [{ box: { baseUrl: URL_OF_BOX, models: {} } }, "providers.box.models is {}, but must be a list"],
      [{ box: { api: "openai-completions", models: [{ id: "a" }] } }, "providers.box.baseUrl is missing"],
      [{ box: { baseUrl: "box" } }, 'providers.box.baseUrl is "box", but must be an http or https address'],
      [
        { box: { baseUrl: URL_OF_BOX, models: [{ id: "a", maxTokens: "1" }] } },
        'models[0].maxTokens is "1", but must be',
      ],
      [
        { box: { baseUrl: URL_OF_BOX, models: [{ id: "a", cost: { input: -1, output: 0 } }] } },
        "cost.input is -1, but must be a number of at least 0",
      ],
      [{ box: { baseUrl: URL_OF_BOX, apiKey: 7 } }, "providers.box.apiKey is (hidden), but must be a string"],
    ])(async ([providers, text]) => {
      const { code, message } = await failure(load({ providers }));
      expect([code, message]).toEqual(["models_invalid", expect.stringContaining(text)]);
    }));

  const boxWith = (apiKey: string) => ({
    providers: { box: { baseUrl: URL_OF_BOX, apiKey, models: [{ id: "a" }] } },
  });
  const keyOf = async (apiKey: string, env: Record<string, string> = {}) => {
    const home = homeWith(boxWith(apiKey));
    const keys = new KeyFile({ home, env: { PATH: process.env.PATH, ...env } });
    const { providers } = await load(boxWith(apiKey));
    const box = providers.find(({ provider }) => provider === "box")!;
    return { keys, box, key: keys.key(box), home };
  };

  test("a key is read from every form that pi knows", () =>
    everyRow([
      ["a text", KEY, {}, KEY],
      ["a variable", "$BOX_KEY", { BOX_KEY: KEY }, KEY],
      ["a variable in braces", `\${BOX_KEY}`, { BOX_KEY: KEY }, KEY],
      ["a bare name of a variable", "BOX_KEY", { BOX_KEY: KEY }, KEY],
      ["a text with a variable", "pre-$PART", { PART: "x1" }, "pre-x1"],
      ["a variable that is not set", "pre-$PART", {}, undefined],
      ["a command", `!echo ${KEY}`, {}, KEY],
      ["a command that fails", "!exit 1", {}, undefined],
    ])(async ([, apiKey, env, expected]) => {
      expect((await keyOf(apiKey, env)).key).toBe(expected);
    }));

  test("a command runs once, and again after a refusal; its key is a known secret", async () => {
    const { keys, box, key, home } = await keyOf(`!echo x >> "$COUNT"; echo ${KEY}`, {
      COUNT: join(homeWith(), "count"),
    });
    expect([key, keys.key(box), keys.source(box)]).toEqual([KEY, KEY, "models"]);
    expect(await keys.freshKey?.(box, { refused: KEY })).toBe(KEY);
    expect(keys.secrets?.()).toContainEqual({ name: "key of box", value: KEY });
    expect(statSync(join(home, "models.json")).isFile()).toBe(true);
  });

  test("a stored key comes first, and a word for servers without keys is no secret", async () => {
    const { keys, box, home } = await keyOf("ollama");
    expect(keys.key(box)).toBe("ollama");
    expect(keys.secrets?.()).toEqual([]);
    writeFileSync(join(home, "auth.json"), JSON.stringify({ box: { type: "api_key", key: KEY } }));
    chmodSync(join(home, "auth.json"), 0o600);
    expect(keys.key(box)).toBe(KEY);
    expect(readFileSync(join(home, "models.json"), "utf8")).toContain("ollama");
  });
});
