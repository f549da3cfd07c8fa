import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { command, opened, say, sessionsOf } from "./command-setup.ts";
import { openInteractive } from "./harness.ts";

test("/name names the session, by what stands behind it or by what is typed", async () => {
  const ui = await opened();
  await say(ui, "hello");
  command(ui, "/name The first one");
  await ui.terminal.until("Session name: “The first one”");
  command(ui, "/name");
  await ui.terminal.until("Session name");
  ui.terminal.type(", renamed\n");
  await ui.terminal.until("Session name: “The first one, renamed”");
  expect(sessionsOf(ui)[0]?.name).toBe("The first one, renamed");
});

test("/thinking and /theme are hidden aliases that open /settings", async () => {
  const ui = await opened();
  command(ui, "/thinking");
  await ui.terminal.until(/› thinking /);
  ui.terminal.press("escape");
  await ui.terminal.until((screen) => !screen.includes("Settings,"));
  command(ui, "/theme");
  await ui.terminal.until(/› theme /);
});

test("/session shows file, id, entries, tokens, cost and compactions", async () => {
  const ui = await opened();
  await say(ui, "hello");
  command(ui, "/session");
  const screen = await ui.terminal.until("Usage");
  const [session] = sessionsOf(ui);
  for (const word of [session!.id, "entries", "tokens"]) expect(screen).toContain(word);
  expect(screen).toMatch(/entries +\d+ \(.*user 1, assistant 1.*\)/);
  expect(screen).not.toMatch(/toolResult|model_change|session_info|custom_message/);
});

test("/session reports a missing model", async () => {
  const ui = openInteractive({ withModel: false, rows: 40 });
  await ui.terminal.until("Store a key with /login");
  command(ui, "/session");
  const screen = await ui.terminal.until(/models +none$/m);
  expect(screen).toMatch(/context +~[\d,]+ tokens in/);
});

test("/trust shows what a project brings, and trusts it after a yes", async () => {
  const ui = await opened();
  command(ui, "/trust");
  await ui.terminal.until("Trust this project?");
  ui.terminal.press("enter");
  await ui.terminal.until((screen) => !screen.includes("Trust this project?"));
  expect(existsSync(join(ui.project.home, "trust.json"))).toBe(false);
  command(ui, "/trust");
  await ui.terminal.until("Trust this project?");
  ui.terminal.press("y", "enter");
  await ui.terminal.until("is trusted.");
  command(ui, "/trust off");
  await ui.terminal.until("no longer trusted");
});
