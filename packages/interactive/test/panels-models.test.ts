import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { command, opened, say } from "./command-room.ts";
import { openInteractive } from "./harness.ts";

test("/model lists what can be used with windows and prices, and sets what is picked", async () => {
  const room = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(room, "/model opus");
  await room.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  room.terminal.press("enter");
  await room.terminal.until(/anthropic\/claude-opus\S* answers from the next request on/);
});

test("/model makes a model the one to begin with", async () => {
  const room = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(room, "/model opus");
  await room.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  room.terminal.press("ctrl+s");
  await room.terminal.until(/Sessions begin with anthropic\/claude-opus\S* from the next start on\./);
  const settings = JSON.parse(readFileSync(join(room.project.home, "settings.json"), "utf8"));
  expect(settings.model).toMatch(/^anthropic\/claude-opus/);
});

test("/model lists and marks the model in use, also one that only the command line knows", async () => {
  const room = await opened({ rows: 20, env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(room, "/model");
  const screen = await room.terminal.until(/› scripted\/\S+ ●/);
  expect(screen.match(/^ {3}anthropic\//gm)?.length).toBeGreaterThanOrEqual(3);
});

test("/model says of a model without a key how to come by one", async () => {
  const room = await opened({ env: { OPENAI_API_KEY: "" } });
  command(room, "/model gpt");
  await room.terminal.until("Model");
  room.terminal.press("tab");
  await room.terminal.until("openai/gpt");
  room.terminal.press("enter");
  await room.terminal.until("see /login");
});

test("/login stores a key for its owner alone, and shows it nowhere", async () => {
  const room = await opened();
  command(room, "/login anthropic");
  await room.terminal.until("Key for anthropic");
  room.terminal.type("sk-secret-1234");
  await room.terminal.until("••••");
  room.terminal.press("enter");
  await room.terminal.until("The key for anthropic is stored");
  const file = join(room.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-secret-1234");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(room.terminal.written.join("")).not.toContain("secret");
});

test("/login does not show a key that stands behind the provider's name, and asks again for one that is none", async () => {
  const room = await opened({ env: { ANTHROPIC_API_KEY: "sk-other" } });
  command(room, "/login anthropic sk-given");
  await room.terminal.until("Keys are typed or pasted here only");
  expect(room.terminal.screen()).not.toContain("› anthropic sk-given");
  room.terminal.type('with "quotes"\n');
  await room.terminal.until("holds a blank");
  room.terminal.type("sk-right");
  room.terminal.press("home", "left", "ctrl+k");
  room.terminal.type("-1\n");
  await room.terminal.until(/while ANTHROPIC_API_KEY is set, that is\s+used\./);
  const file = join(room.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-right-1");
  command(room, "/login anthropic");
  await room.terminal.until("Key for anthropic");
});

test("the first run says in three lines what works, each on its line at 80 columns", async () => {
  const room = openInteractive({ withModel: false, columns: 80 });
  const screen = await room.terminal.until("/login stores a key");
  const lines = screen.split("\n");
  const first = lines.findIndex((line) => line.includes("No model can be used yet; /demo"));
  expect(lines[first + 1]).toMatch(/bonsai compact FILE.*Claude Code, Codex and pi sessions\.$/);
  expect(lines[first + 2]).toMatch(/\/login.*local server.*found\.$/);
});

test("a server that is written into models.json at work is there for /login, /model and the next message", async () => {
  const room = openInteractive({ withModel: false });
  await room.terminal.until("/login stores a key");
  const file = join(room.project.home, "models.json");
  writeFileSync(file, "{");
  command(room, "/model");
  await room.terminal.until("models_unreadable");
  await room.terminal.until("No model can be used yet: /login");
  room.terminal.press("escape");
  const scenario = join(dirname(room.project.cwd), "scenario.json");
  const box = { provider: "box", api: "scripted", baseUrl: scenario, models: [{ id: "coder" }] };
  const safe = { ...box, provider: "safe", apiKeyEnv: "SAFE_KEY" };
  writeFileSync(file, JSON.stringify({ providers: [box, safe] }));
  command(room, "/login safe");
  await room.terminal.until("Key for safe");
  room.terminal.press("escape");
  command(room, "/model");
  await room.terminal.until("box/coder");
  room.terminal.press("escape");
  await say(room, "hello");
  await room.terminal.until("Good.");
});
