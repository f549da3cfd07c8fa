import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { command, opened, say, sessionsOf } from "./command-room.ts";
import { openInteractive } from "./harness.ts";

test("/name names the session, by what stands behind it or by what is typed", async () => {
  const room = await opened();
  await say(room, "hello");
  command(room, "/name The first one");
  await room.terminal.until("called “The first one”");
  command(room, "/name");
  await room.terminal.until("Name of this session");
  room.terminal.type(", renamed\n");
  await room.terminal.until("called “The first one, renamed”");
  expect(sessionsOf(room)[0]?.name).toBe("The first one, renamed");
});

test("/thinking sets the level, and refuses what is none", async () => {
  const room = await opened();
  command(room, "/thinking enormous");
  await room.terminal.until("“enormous” is no level");
  command(room, "/thinking high");
  await room.terminal.until("Thinking is high");
  command(room, "/thinking");
  expect(await room.terminal.until("How much the model thinks")).toContain("high ●");
  room.terminal.type("off\n");
  await room.terminal.until("Thinking is off");
});

test("/session tells file, id, entries, tokens, cost and compactions", async () => {
  const room = await opened();
  await say(room, "hello");
  command(room, "/session");
  const screen = await room.terminal.until("compactions");
  const [session] = sessionsOf(room);
  for (const word of [session!.id, "entries", "tokens", "cost"]) expect(screen).toContain(word);
});

test("/session says where there is no model yet", async () => {
  const room = openInteractive({ withModel: false, rows: 40 });
  await room.terminal.until("/login stores a key");
  command(room, "/session");
  const screen = await room.terminal.until(/cost +\$0/);
  expect(screen).toMatch(/model +none yet/);
  expect(screen).toMatch(/context +~[\d,]+ tokens, window unknown/);
});

test("/trust tells what a project brings, and trusts it once the user says yes", async () => {
  const room = await opened();
  command(room, "/trust");
  await room.terminal.until("Trust this project?");
  room.terminal.press("enter");
  await room.terminal.until((screen) => !screen.includes("Trust this project?"));
  expect(existsSync(join(room.project.home, "trust.json"))).toBe(false);
  command(room, "/trust");
  await room.terminal.until("Trust this project?");
  room.terminal.press("y", "enter");
  await room.terminal.until("is trusted.");
  command(room, "/trust off");
  await room.terminal.until("no longer trusted");
});
