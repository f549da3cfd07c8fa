import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { type ModelRow, modelsView } from "../src/commands/models.ts";
import { lineWidth, renderLine } from "../src/views/line.ts";
import { testFolder } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** What listens at the usual ports of this machine is none of a test's business. */
function homeWith(extra: readonly object[] = []): { BONSAI_HOME: string } {
  const home = testFolder();
  const nobody = ["ollama", "lmstudio", "llamacpp", "vllm"].map((provider) => ({
    provider,
    baseUrl: "http://127.0.0.1:1/v1",
  }));
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: [...nobody, ...extra] }));
  return { BONSAI_HOME: home };
}

const secret = "sk-secret-0123456789";

test("without a key and a server it says how to come by one", async () => {
  const env = homeWith();
  const { code, stdout } = await runCli(["models"], { env });
  expect(code).toBe(0);
  for (const word of [
    "ANTHROPIC_API_KEY",
    "OPENROUTER_API_KEY",
    "bonsai login PROVIDER",
    "auth.json",
    "models.json",
    "Ollama",
    "--all",
  ])
    expect(stdout).toContain(word);
  expect(await jsonOf<ModelRow[]>(["models"], { env })).toEqual([]);
});

test("a key makes its provider's models usable, and is not printed", async () => {
  const env = { ...homeWith(), XAI_API_KEY: secret };
  const rows = await jsonOf<ModelRow[]>(["models"], { env });
  expect(new Set(rows.map(({ provider }) => provider))).toEqual(new Set(["xai"]));
  for (const row of rows) {
    expect(Object.keys(row)).toEqual([
      ...["provider", "id", "name", "contextWindow", "maxOutputTokens", "input", "reasoning"],
      ...["usdPerMillionTokens", "usable", "key", "state", "isDefault"],
    ]);
    expect(row).toMatchObject({ usable: true, key: "XAI_API_KEY" });
  }
  expect(rows.filter(({ isDefault }) => isDefault).map(({ id }) => id)).toEqual(["grok-4.7"]);
  const { stdout, stderr } = await runCli(["models"], { env });
  expect(stdout + stderr + JSON.stringify(rows)).not.toContain(secret);
});

test("a key's source is its file, and a notice warns if others can read the file", async () => {
  const env = homeWith();
  const file = join(env.BONSAI_HOME, "auth.json");
  writeFileSync(file, JSON.stringify({ zai: { type: "api_key", key: secret } }), { mode: 0o644 });
  const { stdout, stderr } = await runCli(["models", "--json"], { env });
  const rows: ModelRow[] = JSON.parse(stdout);
  expect(rows.every(({ key }) => key === file)).toBe(true);
  expect(JSON.parse(stderr).notice.code).toBe("keys_exposed");
  expect(stdout + stderr).not.toContain(secret);
});

test("the settings name the model that is used when none is named", async () => {
  const env = { ...homeWith(), XAI_API_KEY: secret };
  writeFileSync(join(env.BONSAI_HOME, "settings.json"), JSON.stringify({ model: "xai/grok-4.3" }));
  const rows = await jsonOf<ModelRow[]>(["models"], { env });
  expect(rows.filter(({ isDefault }) => isDefault).map(({ id }) => id)).toEqual(["grok-4.3"]);
});

test("a local server's models are listed with their windows", async () => {
  const server = await loopbackServer(({ path }) =>
    path === "/v1/models"
      ? { chunks: [JSON.stringify({ data: [{ id: "qwen", max_model_len: 32_000 }] })] }
      : { status: 404 },
  );
  closers.push(server.close);
  const env = homeWith([{ provider: "box", baseUrl: `${server.url}/v1` }]);
  expect(await jsonOf<ModelRow[]>(["models"], { env })).toEqual([
    {
      provider: "box",
      id: "qwen",
      name: "qwen",
      contextWindow: 32_000,
      maxOutputTokens: null,
      input: ["text"],
      reasoning: false,
      usdPerMillionTokens: null,
      state: "no key needed",
      usable: true,
      key: null,
      isDefault: true,
    },
  ]);
});

test("--all lists the whole catalogue, search words narrow it", async () => {
  const env = { ...homeWith(), XAI_API_KEY: secret };
  const all = await jsonOf<ModelRow[]>(["models", "--all"], { env });
  expect(all.length).toBeGreaterThan(400);
  expect(all.filter(({ usable }) => usable).every(({ provider }) => provider === "xai")).toBe(true);
  const found = await jsonOf<ModelRow[]>(["models", "SONNET anthropic/ 5.5", "--all"], { env });
  expect(found.map(({ provider, id }) => `${provider}/${id}`)).toContain("anthropic/claude-sonnet-5-5");
  expect(found.every(({ name }) => name.includes("Sonnet 5.5"))).toBe(true);
  const none = await runCli(["models", "sonnet"], { env });
  expect(none.stdout).toContain('No usable model matches "sonnet"');
  expect(none.stdout).toContain("bonsai models sonnet --all");
  expect((await runCli(["models", "qqq", "--all"], { env })).stdout).toContain(
    'No known model matches "qqq"',
  );
});

test("a damaged file is an error that names it", async () => {
  const env = homeWith();
  writeFileSync(join(env.BONSAI_HOME, "auth.json"), `{"xai": "${secret}`, { mode: 0o600 });
  const { code, stderr } = await runCli(["models", "--json"], { env });
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error.code).toBe("keys_unreadable");
  expect(stderr).not.toContain(secret);
});

describe("the view", () => {
  const row = (changes: Partial<ModelRow>): ModelRow => ({
    provider: "anthropic",
    id: "claude-sonnet",
    name: "Claude Sonnet",
    contextWindow: 1_000_000,
    maxOutputTokens: 128_000,
    input: ["text"],
    reasoning: true,
    usdPerMillionTokens: { input: 2, output: 10, cacheRead: 0, cacheWrite: 0 },
    usable: true,
    key: "ANTHROPIC_API_KEY",
    state: "key from ANTHROPIC_API_KEY",
    isDefault: false,
    ...changes,
  });
  const rows = [
    row({ isDefault: true }),
    row({
      id: "claude-haiku",
      contextWindow: 1_048_576,
      usdPerMillionTokens: { ...row({}).usdPerMillionTokens!, input: 0.075 },
    }),
    row({
      provider: "ollama",
      id: "日本語-\u001b[2J",
      contextWindow: null,
      maxOutputTokens: null,
      usdPerMillionTokens: null,
      key: null,
      state: "no key needed",
    }),
    row({
      provider: "xai",
      id: "a-model-of-a-very-long-name-that-is-longer-than-the-screen",
      usable: false,
      key: null,
      state: "no key. Set XAI_API_KEY or run bonsai login xai",
    }),
  ];
  const options = {
    rows,
    search: undefined,
    all: true,
    asOf: "2026-11-10",
    home: "/home/dev/.bonsai",
  };
  const drawn = (width: number, shown = rows) => [...modelsView({ ...options, shown, width })];

  test("the list fits its width as recorded", () =>
    everyRow([80, 60, 40])(async (width) => {
      const text = drawn(width).map((line) => renderLine(line, false));
      await expect(`${text.join("\n")}\n`).toMatchFileSnapshot(`golden/models-${width}.txt`);
    }));

  test("the list is never wider than the terminal", () =>
    everyRow([80, 60, 40, 24])((width) => {
      for (const line of drawn(width)) expect(lineWidth(line)).toBeLessThanOrEqual(width);
      const none = [...modelsView({ ...options, rows: [], shown: [], width })];
      for (const line of none) expect(lineWidth(line)).toBeLessThanOrEqual(width);
    }));

  test("has colours if they are enabled", () => {
    expect(
      drawn(80)
        .map((line) => renderLine(line, true))
        .join(""),
    ).toContain("\u001b[");
  });
});
