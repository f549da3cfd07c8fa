import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { trustFolder } from "@bonsai-agent/app/trust";
import { expect, test } from "vitest";
import { agentProject, says } from "../../app/test/agent-project.ts";
import { modelSummary } from "../../app/test/model-summary.ts";
import { longSession } from "../../app/test/sample-session.ts";
import { command, opened } from "./command-room.ts";
import { type OpenedInteractive, type OpenInteractiveOptions, openInteractive } from "./harness.ts";

async function openedSettings(options: OpenInteractiveOptions = {}): Promise<OpenedInteractive> {
  const room = await opened(options);
  await panel(room);
  return room;
}

async function panel(room: OpenedInteractive): Promise<void> {
  command(room, "/settings");
  await room.terminal.until("Settings,");
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

test("/settings writes a setting, told with its meaning, and takes it back", async () => {
  const room = await openedSettings();
  room.terminal.type("keepRecent");
  expect(await room.terminal.until("Default: 20000")).toContain("stay as they are");
  room.terminal.press("enter");
  await room.terminal.until("Empty means the default");
  room.terminal.press("ctrl+u");
  room.terminal.type("many\n");
  await room.terminal.until("many is no number");
  room.terminal.press("ctrl+u");
  room.terminal.type("9,000\n");
  await room.terminal.until("compaction.keepRecentTokens is 9000. Holds at once.");
  expect(ownSettings(room)).toEqual({ compaction: { keepRecentTokens: 9_000 } });
  expect(statSync(join(room.project.home, "settings.json")).mode & 0o777).toBe(0o600);
  room.terminal.press("ctrl+d");
  await room.terminal.until("20000 (default)");
  expect(ownSettings(room)).toEqual({});
  room.terminal.press("esc");
  await room.terminal.until("Settings changed: compaction.keepRecentTokens");
});

test("a panel fits 40 columns, and its keys stand below it", async () => {
  const room = await opened({ columns: 40, rows: 24 });
  command(room, "/settings");
  const screen = await room.terminal.until("Esc leave");
  expect(screen).toContain("1/16");
  for (const line of screen.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
});

test("a meaning that does not fit a low screen ends in a sign that there is more", async () => {
  const room = await opened({ columns: 40, rows: 20 });
  const { terminal } = room;
  command(room, "/settings");
  await terminal.until("Esc leave");
  terminal.type("reserveTokens");
  // Frames come between the keys, too.
  const screen = await terminal.until(/Tokens that stay free(?:.*\n){3}.*…\n─/);
  for (const line of screen.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
  terminal.resize(40, 40);
  await terminal.until(/Holds at once\.\n─/);
});

test("a theme that is chosen is worn at once, and at the next start, whatever the background", async () => {
  const room = await openedSettings({ env: { NO_COLOR: "" }, background: "#000000" });
  room.terminal.type("theme");
  await room.terminal.until("auto (default)");
  expect(since(room, 0)).toContain(darkAccent);
  room.terminal.press("enter");
  await room.terminal.until("light");
  room.terminal.type("light");
  await room.terminal.until("1/1 of 3");
  const before = room.terminal.written.length;
  room.terminal.press("enter");
  await room.terminal.until("theme is light. Holds at once.");
  expect(since(room, before)).toContain(lightAccent);
  expect(since(room, before)).not.toContain(darkAccent);
  await room.end();
  const again = await openedSettings({ project: room.project, env: { NO_COLOR: "" }, background: "#000000" });
  expect(since(again, 0)).toContain(lightAccent);
  expect(since(again, 0)).not.toContain(darkAccent);
});

test("the theme auto asks the terminal anew", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "settings.json"), '{"theme": "light"}');
  const room = await openedSettings({ project, env: { NO_COLOR: "" }, background: "#000000" });
  expect(since(room, 0)).toContain(lightAccent);
  const before = room.terminal.written.length;
  room.terminal.type("theme");
  await room.terminal.until("1/1 of");
  room.terminal.press("ctrl+d");
  await room.terminal.until("auto (default)");
  expect(since(room, before)).toContain(darkAccent);
});

test("compaction settings hold at once", async () => {
  const project = agentProject({ ...says("Well."), summary: [{ text: summary }] });
  const compaction = { enabled: false, threshold: { rule: "percent", percent: 50 } };
  writeFileSync(join(project.home, "settings.json"), JSON.stringify({ compaction }));
  const room = openInteractive({ project, argv: ["--session", longSession()], rows: 40 });
  const { terminal } = room;
  await terminal.until("k/100k");
  terminal.type("One\n");
  await terminal.until("Well.");
  expect(terminal.scrollback()).not.toContain("[compaction]");
  await panel(room);
  terminal.type("compaction.enabled");
  await terminal.until("1/1 of");
  terminal.press("enter");
  await terminal.until("compaction.enabled is on. Holds at once.");
  terminal.press("esc");
  await terminal.until("Settings changed:");
  terminal.type("Two\n");
  await terminal.until(/Masked \d+ old tool results/);
});

test("thinking holds at once, the model to begin with says from when it holds", async () => {
  const room = await openedSettings({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  room.terminal.type("thinking");
  await room.terminal.until("off (default)");
  room.terminal.press("enter");
  await room.terminal.until("xhigh");
  room.terminal.type("xhigh\n");
  await room.terminal.until("thinking is xhigh. Holds at once.");
  room.terminal.press("ctrl+u");
  room.terminal.type("begin with");
  await room.terminal.until("Holds from the next start on; /model");
  room.terminal.press("esc");
  await room.terminal.until("Settings changed: thinking.");
  await room.terminal.until("thinking xhigh");
});

test("a flag, the environment and the project that say otherwise are named, and go on holding", async () => {
  const project = agentProject(says("Good."));
  const own = join(project.cwd, ".bonsai");
  mkdirSync(own);
  writeFileSync(join(own, "settings.json"), '{"titles": false, "compaction": {"keepRecentTokens": 9000}}');
  trustFolder(project.cwd, project.home);
  const room = await openedSettings({
    project,
    argv: ["--thinking", "low"],
    env: { BONSAI_DISABLE_AUTOCOMPACT: "1" },
  });
  const { terminal } = room;
  terminal.type("thinking");
  await terminal.until("low · --thinking");
  await terminal.until("--thinking says low here; your own settings say off.");
  terminal.press("enter");
  await terminal.until("xhigh");
  terminal.type("xhigh\n");
  await terminal.until("thinking is saved as yours; but --thinking says low here.");
  await terminal.until("your own settings say xhigh.");
  terminal.press("ctrl+u");
  terminal.type("compaction.enabled");
  await terminal.until("off · BONSAI_DISABLE_AUTOCOMPACT");
  terminal.press("ctrl+u");
  terminal.type("keepRecent");
  await terminal.until("9000 · this project");
  terminal.press("ctrl+u");
  terminal.type("named after");
  await terminal.until("off · this project");
  terminal.press("enter");
  await terminal.until("titles is saved as yours; but this project says off here.");
  expect(ownSettings(room)).toEqual({ thinking: "xhigh", titles: false });
  terminal.press("esc");
  await terminal.until("Settings changed:");
  expect(terminal.screen()).toContain("thinking low");
});

test("a value of a preset says so", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "settings.json"), '{"compaction": {"preset": "tunacode"}}');
  const room = await openedSettings({ project });
  room.terminal.type("threshold.rule");
  await room.terminal.until("reservePlusKeep (preset tunacode)");
});
