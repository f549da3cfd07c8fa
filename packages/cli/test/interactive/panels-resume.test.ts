import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { longSession, sampleLines, writeLines } from "../call/sample-session.ts";
import {
  command,
  deleteChosen,
  opened,
  openedAgain,
  renameChosen,
  restoreDeleted,
  say,
  sessionsOf,
} from "./command-setup.ts";

test("/resume opens another session, found by its whole text", async () => {
  const ui = await openedAgain("the zebra too");
  await say(ui, "about plants");
  command(ui, "/resume");
  const screen = await ui.terminal.until("Sessions in");
  expect(screen).toContain("about plants ●");
  ui.terminal.type("zebra");
  const found = await ui.terminal.until(/› about animals found in text/);
  expect(found).toContain("“the zebra too”");
  ui.terminal.press("enter");
  await ui.terminal.until((seen) => seen.includes("about animals") && !seen.includes("Sessions in"));
});

test("/resume renames and deletes, but for the session in use", async () => {
  const ui = await openedAgain();
  await say(ui, "about plants");
  command(ui, "/resume");
  await ui.terminal.until("Sessions in");
  ui.terminal.press("ctrl+d");
  await ui.terminal.until("This session is open");
  ui.terminal.type("animals");
  await ui.terminal.until("1/1 of 2");
  ui.terminal.press("ctrl+r");
  await ui.terminal.until("Session name");
  ui.terminal.type("Zoo animals\n");
  await ui.terminal.until((screen) => /Zoo animals/.test(screen) && screen.includes("1/1 of 2"));
  ui.terminal.press("ctrl+d");
  await ui.terminal.until("Delete this session?");
  ui.terminal.press("y");
  await ui.terminal.until(/Moved to \S+trash\. Press\s+Ctrl-Z/);
  expect(sessionsOf(ui).map(({ firstWords }) => firstWords)).toEqual(["about plants"]);
  const [folder] = readdirSync(join(ui.project.home, "trash"));
  expect(readdirSync(join(ui.project.home, "trash", folder!))).toHaveLength(1);
});

test("/resume keeps what a search of the texts found while one of them is renamed and deleted", async () => {
  const ui = await openedAgain("the zebra too");
  command(ui, "/resume");
  await ui.terminal.until("Sessions in");
  ui.terminal.type("zebra");
  await ui.terminal.until("found in text");
  await renameChosen(ui, "Stripes");
  await deleteChosen(ui);
  await restoreDeleted(ui);
  await ui.terminal.until("› Stripes");
  ui.terminal.press("enter");
  await ui.terminal.until("about animals");
});

test("notices about an opened session appear below it", async () => {
  const ui = await opened();
  await say(ui, "about plants");
  command(ui, `/resume ${longSession()}`);
  await ui.terminal.until(/Command exited[\s\S]*This session started in/);
  command(ui, "/new");
  await ui.terminal.until((screen) => !screen.includes("This session started in"));
});

test("/resume reports the conversion of an older session", async () => {
  const ui = await opened();
  await say(ui, "about plants");
  const folder = dirname(sessionsOf(ui)[0]!.file);
  const at = "2026-01-01T00:00:00.000Z";
  const lines = [
    { type: "session", id: "11111111-0000-4000-8000-000000000001", timestamp: at, cwd: ui.project.cwd },
    { type: "message", timestamp: at, message: { role: "user", content: "very old", timestamp: 1 } },
  ];
  writeFileSync(join(folder, "old.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  command(ui, "/resume");
  await ui.terminal.until("Sessions in");
  ui.terminal.type("very old");
  await ui.terminal.until("1/1 of 2");
  ui.terminal.press("ctrl+r");
  await ui.terminal.until("Session name");
  ui.terminal.type("Ancient\n");
  await ui.terminal.until("older format");
});

test("/resume takes a text to search for, even if a folder has its name, an id, or a path", async () => {
  const ui = await openedAgain("the zebra too");
  const [animals] = sessionsOf(ui);
  await say(ui, "about plants");
  mkdirSync(join(ui.project.cwd, "zebra"));
  command(ui, "/resume zebra");
  await ui.terminal.until(/› about animals found in text/);
  ui.terminal.press("esc");
  await ui.terminal.until((screen) => !screen.includes("Sessions in"));
  command(ui, "/resume ./zebra.jsonl");
  await ui.terminal.until("No session file or id");
  ui.terminal.press("ctrl+u");
  command(ui, `/resume ${animals!.id}`);
  await ui.terminal.until((screen) => screen.includes("the zebra too") && !screen.includes("about plants"));
});

test("/resume FILE imports the transcript of another agent and opens it", async () => {
  const ui = await opened();
  const at = (type: string, payload: object) => ({ timestamp: "2026-11-20T09:00:00.000Z", type, payload });
  const said = (role: string, type: string, text: string) =>
    at("response_item", { type: "message", role, content: [{ type, text }] });
  const file = join(ui.project.cwd, "roll out.jsonl");
  writeLines(
    [
      at("session_meta", { id: "c0dex", cwd: "/home/dev/shop" }),
      said("user", "input_text", "Rename the field"),
      said("assistant", "output_text", "Renamed."),
    ],
    file,
  );
  ui.terminal.type("/resume roll");
  ui.terminal.press("tab");
  await ui.terminal.until('/resume "roll out.jsonl"');
  ui.terminal.press("enter");
  const screen = await ui.terminal.until(
    /Imported \d+ entries of Codex from roll out\.jsonl\. The file is\s+unchanged\./,
  );
  expect(screen).toContain("Renamed.");
  expect(sessionsOf(ui)).toMatchObject([{ cwd: ui.project.cwd, firstWords: "Rename the field" }]);
});

test("/import is a hidden alias of /resume", async () => {
  const ui = await opened();
  const file = writeLines(sampleLines());
  command(ui, `/import ${file}`);
  await ui.terminal.until("Done: the total");
  command(ui, "/import");
  await ui.terminal.until("Sessions in");
});
