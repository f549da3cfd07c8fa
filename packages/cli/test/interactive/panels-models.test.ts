import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { command, opened, say } from "./command-setup.ts";
import { openInteractive } from "./harness.ts";

test("/model lists what can be used with windows and prices, and sets what is picked", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(ui, "/model opus");
  await ui.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  ui.terminal.press("enter");
  await ui.terminal.until(/Model: anthropic\/claude-opus\S*, from the next request/);
});

test("/model makes a model the one to begin with", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(ui, "/model opus");
  await ui.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  ui.terminal.press("ctrl+s");
  await ui.terminal.until(/anthropic\/claude-opus\S* is the default model from the next start\./);
  const settings = JSON.parse(readFileSync(join(ui.project.home, "settings.json"), "utf8"));
  expect(settings.model).toMatch(/^anthropic\/claude-opus/);
});

test("/model lists and marks the model in use, also one that only the command line knows", async () => {
  const ui = await opened({ rows: 20, env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(ui, "/model");
  const screen = await ui.terminal.until(/› scripted\/\S+ ●/);
  expect(screen.match(/^ {3}anthropic\//gm)?.length).toBeGreaterThanOrEqual(3);
});

test("/model explains how to get a missing key, by its name and from the list, and changes nothing", async () => {
  const ui = await opened({ env: { OPENAI_API_KEY: "" } });
  command(ui, "/model openai/gpt-4.1");
  await ui.terminal.until(
    /openai\/gpt-4\.1 is not available: no key\. Set\s+OPENAI_API_KEY or\s+run\s+\/login\s+openai\./,
  );
  expect(ui.terminal.screen()).toMatch(/scripted\/\S+ +thinking off/);
  ui.terminal.press("ctrl+u");
  command(ui, "/model gpt");
  await ui.terminal.until("No matches. Tab switches between available and all models.");
  ui.terminal.press("tab");
  await ui.terminal.until("› openai/gpt");
  ui.terminal.press("enter");
  await ui.terminal.until("openai/gpt-4 is not available: no key. Set OPENAI_API_KEY");
});

test("/model completes the available models", async () => {
  const ui = await opened({ env: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "" } });
  ui.terminal.type("/model 4");
  const screen = await ui.terminal.until("→ openai/");
  expect(screen).not.toContain("anthropic/");
});

const boxes = (play: string) => [
  { provider: "box", api: "scripted", baseUrl: play, models: [{ id: "a" }, { id: "b", reasoning: true }] },
  { provider: "safe", apiKeyEnv: "SAFE_KEY", baseUrl: "http://far.invalid", models: [{ id: "locked" }] },
];

test("a key goes through the favourites that can be used, with their levels of thinking, and back", async () => {
  const project = agentProject(says("Good."));
  const play = join(dirname(project.cwd), "scenario.json");
  writeFileSync(join(project.home, "models.json"), JSON.stringify({ providers: boxes(play) }));
  const favoriteModels = ["box/b:high", "safe/locked", "nobody/a", "box/a", "b*x/a"];
  writeFileSync(join(project.home, "settings.json"), JSON.stringify({ favoriteModels }));
  const ui = await opened({ project });
  command(ui, "/model box/a");
  await ui.terminal.until("Model: box/a, from the next request");
  ui.terminal.press("ctrl+p");
  await ui.terminal.until(/box\/b +thinking high/);
  await ui.terminal.until(
    /Skipped a favourite model: safe\/locked needs a key: set SAFE_KEY or run\s+\/login\s+safe/,
  );
  await ui.terminal.until(/Unknown provider "nobody"[^"]*[^.]\.\n/);
  ui.terminal.press("alt+m");
  await ui.terminal.until("(2 of 2)");
  // Shift-Ctrl-P, as terminals with the protocol of Kitty send it.
  ui.terminal.send("\x1b[112;6u");
  await ui.terminal.until("(1 of 2)");
  ui.terminal.press("ctrl+p", "ctrl+p");
  await ui.terminal.until(/box\/b +thinking high\s*$/);
});

test("/model marks favourites, and takes them back", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "k" } });
  const favourites = () =>
    JSON.parse(readFileSync(join(ui.project.home, "settings.json"), "utf8")).favoriteModels;
  command(ui, "/model claude-opus-4-8");
  await ui.terminal.until("› anthropic/claude-opus-4-8");
  ui.terminal.press("ctrl+f");
  await ui.terminal.until(/› anthropic\/claude-opus-4-8 ★/);
  expect(favourites()).toEqual(["anthropic/claude-opus-4-8"]);
  ui.terminal.press("escape", "ctrl+p");
  await ui.terminal.until("anthropic/claude-opus-4-8, from the next request (1 of 1).");
  ui.terminal.press("ctrl+p");
  await ui.terminal.until("No other favourite is available");
  command(ui, "/model claude-opus-4-8");
  await ui.terminal.until(/› anthropic\/claude-opus-4-8 ● ★/);
  ui.terminal.press("ctrl+f");
  await ui.terminal.until("is no longer a favourite");
  expect(favourites()).toBeUndefined();
});

test("the thinking key goes through the levels that make a difference, and the footer has what is sent", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "k", GROQ_API_KEY: "k" } });
  command(ui, "/model anthropic/claude-opus-4-6");
  await ui.terminal.until(/claude-opus-4-6 +thinking off/);
  const seen: string[] = [];
  for (const level of ["low", "medium", "high", "off"]) {
    ui.terminal.press("shift+tab");
    seen.push(await ui.terminal.until(new RegExp(`claude-opus-4-6 +thinking ${level}`)));
  }
  expect(seen).toHaveLength(4);
});

test("Store a key with /login for its owner alone, and shows it nowhere", async () => {
  const ui = await opened();
  command(ui, "/login anthropic");
  await ui.terminal.until("Key for anthropic");
  ui.terminal.type("sk-secret-1234");
  await ui.terminal.until("••••");
  ui.terminal.press("enter");
  await ui.terminal.until("Stored the key for anthropic.");
  const file = join(ui.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-secret-1234");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(ui.terminal.written.join("")).not.toContain("secret");
});

test("/login does not show a key that stands behind the provider's name, and asks again for one that is none", async () => {
  const ui = await opened({ env: { ANTHROPIC_API_KEY: "sk-other" } });
  command(ui, "/login anthropic sk-given");
  await ui.terminal.until("Enter the key here, not in the prompt");
  expect(ui.terminal.screen()).not.toContain("› anthropic sk-given");
  ui.terminal.type('with "quotes"\n');
  await ui.terminal.until("contains a space");
  ui.terminal.type("sk-right");
  ui.terminal.press("home", "left", "ctrl+k");
  ui.terminal.type("-1\n");
  await ui.terminal.until(/ANTHROPIC_API_KEY is set and overrides\s+it\./);
  const file = join(ui.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-right-1");
  command(ui, "/login anthropic");
  await ui.terminal.until("Key for anthropic");
});

test("/logout removes a stored key, and names one in the environment", async () => {
  const ui = await opened({ env: { OPENAI_API_KEY: "from-env", ANTHROPIC_API_KEY: "" } });
  command(ui, "/logout");
  await ui.terminal.until("No key or login is stored.");
  const file = join(ui.project.home, "auth.json");
  const key = { type: "api_key", key: "k" };
  const signIn = { type: "oauth", token: "t" };
  writeFileSync(file, JSON.stringify({ openai: key, anthropic: key, other: signIn }), { mode: 0o600 });
  command(ui, "/model anthropic/claude-opus-4-8");
  await ui.terminal.until(/claude-opus-4-8 +thinking/);
  command(ui, "/logout groq");
  await ui.terminal.until("Nothing is stored for groq.");
  command(ui, "/logout other");
  await ui.terminal.until("Nothing is stored for other.");
  command(ui, "/logout anthropic");
  await ui.terminal.until(
    /anthropic\/claude-opus-4-8 is no longer available\. Choose another model with\s+\/model\./,
  );
  command(ui, "/logout");
  await ui.terminal.until(/› openai +key/);
  ui.terminal.press("enter");
  await ui.terminal.until(
    /Deleted the stored key or login of openai\. OPENAI_API_KEY still\s+provides a\s+key/,
  );
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ other: signIn });
});

test("the first run says in three lines what works, each on its line at 80 columns", async () => {
  const ui = openInteractive({ withModel: false, columns: 80 });
  const screen = await ui.terminal.until("Store a key with /login");
  const lines = screen.split("\n");
  const first = lines.findIndex((line) => line.includes("No model available yet. Run"));
  expect(lines[first + 1]).toMatch(/bonsai compact FILE.*Claude Code, Codex and pi sessions\.$/);
  expect(lines[first + 2]).toMatch(/\/login\. A local .*found automatically\.$/);
});

test("a server that is written into models.json at work is there for /login, /model and the next message", async () => {
  const ui = openInteractive({ withModel: false });
  await ui.terminal.until("Store a key with /login");
  const file = join(ui.project.home, "models.json");
  writeFileSync(file, "{");
  command(ui, "/model");
  await ui.terminal.until("models_unreadable");
  await ui.terminal.until("No model available. Store a key");
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
