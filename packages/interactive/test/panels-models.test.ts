import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { command, opened, say } from "./command-setup.ts";
import { openInteractive } from "./harness.ts";

test("/model lists what can be used with windows and prices, and sets what is picked", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(ui, "/model opus");
  await ui.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  ui.terminal.press("enter");
  await ui.terminal.until(/anthropic\/claude-opus\S* answers from the next request on/);
});

test("/model makes a model the one to begin with", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(ui, "/model opus");
  await ui.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  ui.terminal.press("ctrl+s");
  await ui.terminal.until(/Sessions begin with anthropic\/claude-opus\S* from the next start on\./);
  const settings = JSON.parse(readFileSync(join(ui.project.home, "settings.json"), "utf8"));
  expect(settings.model).toMatch(/^anthropic\/claude-opus/);
});

test("/model lists and marks the model in use, also one that only the command line knows", async () => {
  const ui = await opened({ rows: 20, env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(ui, "/model");
  const screen = await ui.terminal.until(/› scripted\/\S+ ●/);
  expect(screen.match(/^ {3}anthropic\//gm)?.length).toBeGreaterThanOrEqual(3);
});

test("/model says of a model without a key how to come by one", async () => {
  const ui = await opened({ env: { OPENAI_API_KEY: "" } });
  command(ui, "/model gpt");
  await ui.terminal.until("Model");
  ui.terminal.press("tab");
  await ui.terminal.until("openai/gpt");
  ui.terminal.press("enter");
  await ui.terminal.until("see /login");
});

test("/login stores a key for its owner alone, and shows it nowhere", async () => {
  const ui = await opened();
  command(ui, "/login anthropic");
  await ui.terminal.until("Key for anthropic");
  ui.terminal.type("sk-secret-1234");
  await ui.terminal.until("••••");
  ui.terminal.press("enter");
  await ui.terminal.until("The key for anthropic is stored");
  const file = join(ui.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-secret-1234");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(ui.terminal.written.join("")).not.toContain("secret");
});

test("/login does not show a key that stands behind the provider's name, and asks again for one that is none", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "sk-other" } });
  command(ui, "/login anthropic sk-given");
  await ui.terminal.until("Keys are typed or pasted here only");
  expect(ui.terminal.screen()).not.toContain("› anthropic sk-given");
  ui.terminal.type('with "quotes"\n');
  await ui.terminal.until("holds a blank");
  ui.terminal.type("sk-right");
  ui.terminal.press("home", "left", "ctrl+k");
  ui.terminal.type("-1\n");
  await ui.terminal.until(/while ANTHROPIC_API_KEY is set, that is\s+used\./);
  const file = join(ui.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-right-1");
  command(ui, "/login anthropic");
  await ui.terminal.until("Key for anthropic");
});

test("the first run says in three lines what works, each on its line at 80 columns", async () => {
  const ui = openInteractive({ withModel: false, columns: 80 });
  const screen = await ui.terminal.until("/login stores a key");
  const lines = screen.split("\n");
  const first = lines.findIndex((line) => line.includes("No model can be used yet; /demo"));
  expect(lines[first + 1]).toMatch(/bonsai compact FILE.*Claude Code, Codex and pi sessions\.$/);
  expect(lines[first + 2]).toMatch(/\/login.*local server.*found\.$/);
});

test("a server that is written into models.json at work is there for /login, /model and the next message", async () => {
  const ui = openInteractive({ withModel: false });
  await ui.terminal.until("/login stores a key");
  const file = join(ui.project.home, "models.json");
  writeFileSync(file, "{");
  command(ui, "/model");
  await ui.terminal.until("models_unreadable");
  await ui.terminal.until("No model can be used yet: /login");
  ui.terminal.press("escape");
  const scenario = join(dirname(ui.project.cwd), "scenario.json");
  const box = { provider: "box", api: "scripted", baseUrl: scenario, models: [{ id: "coder" }] };
  const safe = { ...box, provider: "safe", apiKeyEnv: "SAFE_KEY" };
  writeFileSync(file, JSON.stringify({ providers: [box, safe] }));
  command(ui, "/login safe");
  await ui.terminal.until("Key for safe");
  ui.terminal.press("escape");
  command(ui, "/model");
  await ui.terminal.until("box/coder");
  ui.terminal.press("escape");
  await say(ui, "hello");
  await ui.terminal.until("Good.");
});
