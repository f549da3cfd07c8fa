import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { longSession } from "../../app/test/sample-session.ts";
import { command, opened, openedAgain, say, sessionsOf } from "./command-room.ts";

test("/resume opens another session, found by its whole text", async () => {
  const room = await openedAgain("the zebra too");
  await say(room, "about plants");
  command(room, "/resume");
  const screen = await room.terminal.until("Sessions, in");
  expect(screen).toContain("about plants ●");
  room.terminal.type("zebra");
  await room.terminal.until("Nothing matches; Ctrl-F");
  room.terminal.press("ctrl+f");
  await room.terminal.until("1 session with “zebra” in the text.");
  room.terminal.press("enter");
  await room.terminal.until((seen) => seen.includes("about animals") && !seen.includes("Sessions, in"));
});

test("/resume renames and deletes, but for the session in use", async () => {
  const room = await openedAgain();
  await say(room, "about plants");
  command(room, "/resume");
  await room.terminal.until("Sessions, in");
  room.terminal.press("ctrl+d");
  await room.terminal.until("This session is in use");
  room.terminal.type("animals");
  await room.terminal.until("1/1 of 2");
  room.terminal.press("ctrl+r");
  await room.terminal.until("Name of the session");
  room.terminal.type("Zoo animals\n");
  await room.terminal.until((screen) => /Zoo animals/.test(screen) && screen.includes("1/1 of 2"));
  room.terminal.press("ctrl+d");
  await room.terminal.until("Delete this session?");
  room.terminal.press("y");
  await room.terminal.until(/Moved to \S+trash\. Ctrl-Z/);
  expect(sessionsOf(room).map(({ firstWords }) => firstWords)).toEqual(["about plants"]);
  const [folder] = readdirSync(join(room.project.home, "trash"));
  expect(readdirSync(join(room.project.home, "trash", folder!))).toHaveLength(1);
});

test("/resume keeps what a search of the texts found while one of them is renamed and deleted", async () => {
  const room = await openedAgain("the zebra too");
  command(room, "/resume");
  await room.terminal.until("Sessions, in");
  room.terminal.type("zebra");
  room.terminal.press("ctrl+f");
  await room.terminal.until("1 session with “zebra” in the text.");
  room.terminal.press("ctrl+r");
  await room.terminal.until("Name of the session");
  room.terminal.press("ctrl+u");
  room.terminal.type("Stripes\n");
  await room.terminal.until(/› Stripes/);
  room.terminal.press("ctrl+d");
  await room.terminal.until("Delete this session?");
  room.terminal.press("y");
  await room.terminal.until("Nothing found.");
  await room.terminal.until("Moved to");
  room.terminal.press("ctrl+u");
  room.terminal.press("ctrl+z");
  await room.terminal.until("The session is back.");
  await room.terminal.until("› Stripes");
  room.terminal.press("enter");
  await room.terminal.until("about animals");
});

test("what is worth knowing of a session that /resume opens stands below it", async () => {
  const room = await opened();
  await say(room, "about plants");
  command(room, `/resume ${longSession()}`);
  await room.terminal.until(/Command exited[\s\S]*This session was begun in/);
  command(room, "/new");
  await room.terminal.until((screen) => !screen.includes("This session was begun in"));
});

test("/resume says what became of a session of an older format that is named", async () => {
  const room = await opened();
  await say(room, "about plants");
  const folder = dirname(sessionsOf(room)[0]!.file);
  const at = "2026-01-01T00:00:00.000Z";
  const lines = [
    { type: "session", id: "11111111-0000-4000-8000-000000000001", timestamp: at, cwd: room.project.cwd },
    { type: "message", timestamp: at, message: { role: "user", content: "very old", timestamp: 1 } },
  ];
  writeFileSync(join(folder, "old.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  command(room, "/resume");
  await room.terminal.until("Sessions, in");
  room.terminal.type("very old");
  await room.terminal.until("1/1 of 2");
  room.terminal.press("ctrl+r");
  await room.terminal.until("Name of the session");
  room.terminal.type("Ancient\n");
  await room.terminal.until("older format");
});
