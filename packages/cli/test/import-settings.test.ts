import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "./run-cli.ts";

let folder: string;
let home: string;
let env: Record<string, string>;

/** Built from parts, so that no scanner takes it for a key. */
const KEY = ["sk", "ant", "0123456789abcdef"].join("-");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-from-pi-"));
  home = join(folder, "bonsai");
  env = { HOME: folder, BONSAI_HOME: home };
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function pi(files: Record<string, unknown>, below = join(folder, ".pi", "agent")): void {
  mkdirSync(below, { recursive: true });
  for (const [name, value] of Object.entries(files))
    writeFileSync(join(below, name), typeof value === "string" ? value : JSON.stringify(value));
}

const read = (name: string) => JSON.parse(readFileSync(join(home, name), "utf8"));

const MODELS =
  '{ "providers": { /* mine */ "box": { "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "models": [{ "id": "a" }] } } }';

const run = async (...more: string[]) => {
  const { code, stdout, stderr } = await runCli(["import-settings", "pi", ...more], { env });
  return { code, stdout, stderr };
};

test("takes models, keys and settings, and names everything that stays", async () => {
  pi({
    "models.json": MODELS,
    "auth.json": {
      anthropic: { type: "api_key", key: KEY },
      openai: { type: "oauth", access: "a", refresh: "b", expires: 1 },
      groq: { type: "api_key", key: "!op read x" },
      xai: { type: "api_key", key: "two words" },
    },
    "settings.json": {
      defaultProvider: "box",
      defaultModel: "a",
      defaultThinkingLevel: "max",
      enabledModels: ["box/*"],
      externalEditor: "vim",
      theme: "dracula",
      compaction: { enabled: false, reserveTokens: 9000, keepRecentTokens: "many" },
      retry: { maxRetries: 5 },
      skills: ["skills/mine", "/abs"],
      extensions: ["!x"],
      packages: ["npm:pi-x"],
      quietStartup: true,
    },
  });
  const { code, stdout } = await run();
  expect(code).toBe(0);
  expect(readFileSync(join(home, "models.json"), "utf8")).toBe(MODELS);
  expect(read("auth.json")).toEqual({ anthropic: { type: "api_key", key: KEY } });
  expect(read("settings.json")).toEqual({
    model: "box/a",
    thinking: "xhigh",
    favoriteModels: ["box/*"],
    editor: "vim",
    compaction: { enabled: false, threshold: { reserveTokens: 9000 } },
    retry: { maxRetries: 5 },
    skills: [join(folder, ".pi/agent/skills/mine"), "/abs"],
  });
  for (const name of ["models.json", "auth.json", "settings.json"])
    expect(statSync(join(home, name)).mode & 0o777).toBe(0o600);
  expect(stdout).not.toContain(KEY);
  for (const line of [
    "key of anthropic",
    "setting model",
    "auth.json: openai. A login cannot move. Run `bonsai login openai`.",
    "auth.json: groq. It is a variable or a command.",
    "auth.json: xai. It has characters that no key has.",
    "settings.json: theme. Bonsai has no counterpart for it.",
    "settings.json: compaction.keepRecentTokens. Bonsai does not allow this value.",
    "settings.json: extensions. Bonsai has no counterpart for it.",
    "settings.json: packages. Add each package with `bonsai extension add npm:NAME`.",
    "settings.json: quietStartup. Bonsai has no counterpart for it.",
  ])
    expect(stdout).toContain(line);
  const models = await runCli(["models", "box", "--all", "--json"], { env });
  expect(JSON.parse(models.stdout)).toEqual([expect.objectContaining({ provider: "box", id: "a" })]);
});

test("keeps existing values and says so; PI_CODING_AGENT_DIR names pi's folder", async () => {
  pi(
    {
      "models.json": MODELS,
      "auth.json": { groq: { key: KEY } },
      "settings.json": { externalEditor: "vim" },
    },
    join(folder, "other"),
  );
  mkdirSync(home);
  writeFileSync(join(home, "models.json"), '{"providers": []}');
  writeFileSync(join(home, "settings.json"), '{"editor": "nano"}');
  writeFileSync(join(home, "auth.json"), JSON.stringify({ groq: { type: "api_key", key: "old" } }));
  chmodSync(join(home, "auth.json"), 0o600);
  env.PI_CODING_AGENT_DIR = "~/other";
  const { code, stdout } = await run("--json");
  const { folder: from, taken, left } = JSON.parse(stdout);
  expect([code, from, taken]).toEqual([0, join(folder, "other"), []]);
  expect(left.map(({ name }: { name: string }) => name)).toEqual([
    "models.json",
    "auth.json: groq",
    "settings.json: externalEditor",
  ]);
  expect([read("models.json"), read("settings.json"), read("auth.json").groq.key]).toEqual([
    { providers: [] },
    { editor: "nano" },
    "old",
  ]);
});

test("damaged files of pi are left, with the reason", async () => {
  pi({ "models.json": { providers: { box: { baseUrl: 1 } } }, "auth.json": "{", "settings.json": "[]" });
  const { code, stdout } = await run();
  expect(code).toBe(0);
  expect(stdout).toContain("providers.box.baseUrl is 1, but must be a string.");
  expect(stdout).toContain("auth.json. It is not valid JSON.");
  expect(stdout).toContain("settings.json. It is not a JSON object.");
  expect(existsSync(join(home, "models.json"))).toBe(false);
});

test("without a folder of pi, the error names it", async () => {
  const { code, stderr } = await run();
  expect(code).toBe(2);
  expect(stderr).toContain(`${join(folder, ".pi", "agent")} has no settings of pi.`);
  expect((await runCli(["import-settings", "vim"], { env })).stderr).toContain(
    "Cannot import settings of vim.",
  );
});
