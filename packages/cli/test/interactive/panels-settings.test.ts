import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { trustFolder } from "../../src/call/trust.ts";
import { agentProject, says } from "../call/agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { longSession } from "../call/sample-session.ts";
import { command, opened } from "./command-setup.ts";
import { type OpenedInteractive, type OpenInteractiveOptions, openInteractive } from "./harness.ts";

async function openedSettings(options: OpenInteractiveOptions = {}): Promise<OpenedInteractive> {
  const ui = await opened(options);
  await panel(ui);
  return ui;
}

async function panel(ui: OpenedInteractive): Promise<void> {
  command(ui, "/settings");
  await ui.terminal.until("Settings,");
}

function ownSettings({ project }: OpenedInteractive): unknown {
  return JSON.parse(readFileSync(join(project.home, "settings.json"), "utf8"));
}

/** What was written since; colours included. */
function since({ terminal }: OpenedInteractive, at: number): string {
  return terminal.written.slice(at).join("");
}

const summary = modelSummary();
const darkAccent = "38;5;110m";
const lightAccent = "38;5;25m";

test("/settings writes a setting, shown with its meaning, and takes it back", async () => {
  const ui = await openedSettings();
  ui.terminal.type("keepRecent");
  expect(await ui.terminal.until("Default: 20000")).toContain("keeps word for word");
  ui.terminal.press("enter");
  await ui.terminal.until("Leave it empty for the default");
  ui.terminal.press("ctrl+u");
  ui.terminal.type("many\n");
  await ui.terminal.until("many is not a whole number");
  ui.terminal.press("ctrl+u");
  ui.terminal.type("9,000\n");
  await ui.terminal.until("compaction.keepRecentTokens is 9000. Takes effect immediately.");
  expect(ownSettings(ui)).toEqual({ compaction: { keepRecentTokens: 9_000 } });
  expect(statSync(join(ui.project.home, "settings.json")).mode & 0o777).toBe(0o600);
  ui.terminal.press("ctrl+d");
  await ui.terminal.until("20000 (default)");
  expect(ownSettings(ui)).toEqual({});
});

test("/settings takes a word or a number for the economy", async () => {
  const ui = await openedSettings();
  ui.terminal.type("compaction.economy");
  await ui.terminal.until("Allowed: off, auto or a whole number.");
  ui.terminal.press("enter");
  await ui.terminal.until("Leave it empty for the default");
  ui.terminal.press("ctrl+u");
  ui.terminal.type("less\n");
  await ui.terminal.until("less is not off, auto or a whole number.");
  ui.terminal.press("ctrl+u");
  ui.terminal.type("Auto\n");
  await ui.terminal.until("compaction.economy is auto. Takes effect immediately.");
  expect(ownSettings(ui)).toEqual({ compaction: { economy: "auto" } });
  ui.terminal.press("enter");
  await ui.terminal.until("Leave it empty for the default");
  ui.terminal.press("ctrl+u");
  ui.terminal.type("64,000\n");
  await ui.terminal.until("compaction.economy is 64000. Takes effect immediately.");
  expect(ownSettings(ui)).toEqual({ compaction: { economy: 64_000 } });
});

test("a panel fits 40 columns, and its keys stand below it", async () => {
  const ui = await opened({ columns: 40, rows: 24 });
  command(ui, "/settings");
  const screen = await ui.terminal.until("Esc leave");
  expect(screen).toContain("1/21");
  for (const line of screen.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
});

test("a meaning that does not fit a low screen ends in a sign that there is more", async () => {
  const ui = await opened({ columns: 40, rows: 20 });
  const { terminal } = ui;
  command(ui, "/settings");
  await terminal.until("Esc leave");
  terminal.type("threshold.rule");
  // Frames come between the keys, too.
  const screen = await terminal.until(/Decides when the context(?:.*\n){3}.*…\n─/);
  for (const line of screen.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
  terminal.resize(40, 40);
  await terminal.until(/Takes\s+effect\s+immediately\.\n─/);
});

test("a chosen theme applies at once and at the next start", async () => {
  const ui = await openedSettings({ env: { NO_COLOR: "" }, background: "#000000" });
  ui.terminal.type("theme");
  await ui.terminal.until("auto (default)");
  expect(since(ui, 0)).toContain(darkAccent);
  ui.terminal.press("enter");
  await ui.terminal.until("light");
  ui.terminal.press("down", "down");
  await ui.terminal.until("› light");
  const before = ui.terminal.written.length;
  ui.terminal.press("enter");
  await ui.terminal.until("theme is light. Takes effect immediately.");
  expect(since(ui, before)).toContain(lightAccent);
  expect(since(ui, before)).not.toContain(darkAccent);
  await ui.end();
  const again = await openedSettings({ project: ui.project, env: { NO_COLOR: "" }, background: "#000000" });
  expect(since(again, 0)).toContain(lightAccent);
  expect(since(again, 0)).not.toContain(darkAccent);
});

test("the theme auto asks the terminal anew", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "settings.json"), '{"theme": "light"}');
  const ui = await openedSettings({ project, env: { NO_COLOR: "" }, background: "#000000" });
  expect(since(ui, 0)).toContain(lightAccent);
  const before = ui.terminal.written.length;
  ui.terminal.type("theme");
  await ui.terminal.until("1/1 of");
  ui.terminal.press("ctrl+d");
  await ui.terminal.until("auto (default)");
  expect(since(ui, before)).toContain(darkAccent);
});

test("compaction settings hold at once", async () => {
  const project = agentProject({ ...says("Well."), summary: [{ text: summary }] });
  const compaction = { enabled: false, threshold: { rule: "percent", percent: 50 } };
  writeFileSync(join(project.home, "settings.json"), JSON.stringify({ compaction }));
  const ui = openInteractive({ project, argv: ["--session", longSession()], rows: 40 });
  const { terminal } = ui;
  await terminal.until("k/100k");
  terminal.type("One\n");
  await terminal.until("Well.");
  expect(terminal.scrollback()).not.toContain("[compaction]");
  await panel(ui);
  terminal.type("compaction.enabled");
  await terminal.until("1/1 of");
  terminal.press("enter");
  await terminal.until("compaction.enabled is on. Takes effect immediately.");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Settings,"));
  terminal.type("Two\n");
  await terminal.until(/Masked \d+ old tool results/);
});

test("thinking applies at once, and the default model says when it applies", async () => {
  const ui = await openedSettings({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  ui.terminal.type("thinking");
  await ui.terminal.until("off (default)");
  ui.terminal.press("enter");
  await ui.terminal.until("xhigh");
  ui.terminal.press("up", "enter");
  await ui.terminal.until("thinking is xhigh. Takes effect immediately.");
  ui.terminal.press("ctrl+u");
  ui.terminal.type("new sessions");
  await ui.terminal.until("Takes effect at the next start. Use /model");
  ui.terminal.press("esc");
  await ui.terminal.until("thinking xhigh");
});

test("a setting names the flag, variable or project that overrides it", async () => {
  const project = agentProject(says("Good."));
  const own = join(project.cwd, ".bonsai");
  mkdirSync(own);
  writeFileSync(join(own, "settings.json"), '{"titles": false, "compaction": {"keepRecentTokens": 9000}}');
  trustFolder(project.cwd, project.home);
  const ui = await openedSettings({
    project,
    argv: ["--thinking", "low"],
    env: { BONSAI_DISABLE_AUTOCOMPACT: "1" },
  });
  const { terminal } = ui;
  terminal.type("thinking");
  await terminal.until("low · --thinking");
  await terminal.until("--thinking sets low here. Your own value: off.");
  terminal.press("enter");
  await terminal.until("xhigh");
  terminal.press("up", "enter");
  await terminal.until("Saved your thinking, but --thinking sets it to low here.");
  await terminal.until("Your own value: xhigh.");
  terminal.press("ctrl+u");
  terminal.type("compaction.enabled");
  await terminal.until("off · BONSAI_DISABLE_AUTOCOMPACT");
  terminal.press("ctrl+u");
  terminal.type("keepRecent");
  await terminal.until("9000 · this project");
  terminal.press("ctrl+u");
  terminal.type("Name sessions");
  await terminal.until("off · this project");
  terminal.press("enter");
  await terminal.until("Saved your titles, but this project sets it to off here.");
  expect(ownSettings(ui)).toEqual({ thinking: "xhigh", titles: false });
  terminal.press("esc");
  await terminal.until("thinking low");
});

test("a value of a preset says so", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "settings.json"), '{"compaction": {"preset": "tunacode"}}');
  const ui = await openedSettings({ project });
  ui.terminal.type("threshold.rule");
  await ui.terminal.until("reservePlusKeep (preset tunacode)");
});
