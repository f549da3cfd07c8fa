import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models";
import { expect, test } from "vitest";
import { type OpenedInteractive, openInteractive } from "./harness.ts";
import { longPlay, openLong } from "./long-room.ts";

const RULE = "Never push to main.";

const opened = (file?: string) => openLong(file === undefined ? {} : { file });

function command({ terminal }: OpenedInteractive, text: string): void {
  terminal.paste(text);
  terminal.press("enter");
}

function lastOf(file: string, type: string) {
  const entries = readFileSync(file, "utf8")
    .trimEnd()
    .split(/\n+/)
    .map((line) => JSON.parse(line));
  return entries.findLast((entry) => entry.type === type);
}

test("/pin pins a text: it stands in the chat, and every compaction carries it word for word", async () => {
  const room = await opened();
  command(room, `/pin ${RULE}`);
  await room.terminal.until(`Pinned: ${RULE}`);
  command(room, `/pin ${RULE}`);
  await room.terminal.until("That is pinned already.");
  command(room, "/compact");
  await room.terminal.until("Compacted: ");
  expect(lastOf(room.file, "compaction").summary).toContain(`<pinned>\n${RULE}\n</pinned>`);
  await room.end();
  const again = await opened(room.file);
  command(again, "/pin");
  expect(await again.terminal.until("every compaction keeps it")).toContain(`› ${RULE}`);
});

test("/pin alone lists what is pinned: Enter shows the whole text, Delete takes it back", async () => {
  const room = await opened();
  const { terminal } = room;
  command(room, "/pin");
  await terminal.until("Nothing is pinned.");
  command(room, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  command(room, `/pin First line.\n${"word ".repeat(80)}\nthe last line`);
  await terminal.until("the last line");
  command(room, "/pin");
  await terminal.until("every compaction keeps it");
  terminal.press("down");
  terminal.press("enter");
  expect(await terminal.until(/the last line\n.*close/)).not.toContain("unpin");
  terminal.press("escape");
  await terminal.until("unpin");
  terminal.press("delete");
  await terminal.until("Unpinned: First line.");
  terminal.press("delete");
  await terminal.until("Nothing is pinned any more.");
  terminal.press("escape");
  await terminal.until(`Unpinned: ${RULE}`);
  command(room, "/compact");
  await terminal.until("Compacted: ");
  expect(lastOf(room.file, "compaction").summary).not.toContain("<pinned>");
});

test("what cannot be pinned comes back into the editor, with the reason", async () => {
  const room = await opened();
  command(room, `/pin ${"x".repeat(4_100)}`);
  const screen = await room.terminal.until("at most 4,000 characters");
  expect(screen).toContain(`${"x".repeat(40)}\n`);
  room.terminal.press("ctrl+c");
  command(room, "/pin");
  await room.terminal.until("Nothing is pinned.");
});

test("a text that is pinned while the agent works is there before its next request, also after a stop", async () => {
  const slow: Scenario = { ...longPlay, turn: [{ text: "Well.", delayMs: 60_000 }] };
  const room = openInteractive({ scenario: slow, rows: 40 });
  await room.terminal.until("/100k");
  room.terminal.type("hello\n");
  await room.terminal.until("Waiting for the model");
  command(room, `/pin ${RULE}`);
  await room.terminal.until("Will be pinned before the next request");
  command(room, `/pin ${RULE}`);
  await room.terminal.until("That is pinned already.");
  command(room, "/pin");
  await room.terminal.until("every compaction keeps it");
  room.terminal.press("escape");
  await room.terminal.until((screen) => !screen.includes("every compaction keeps it"));
  room.terminal.press("escape");
  await room.terminal.until(` Pinned: ${RULE}`);
  command(room, "/pin");
  await room.terminal.until("every compaction keeps it");
});

test("the tree goes to a pin, and to before it", async () => {
  const room = await opened();
  const { terminal } = room;
  command(room, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  terminal.type("go on\n");
  await terminal.until("Well.");
  command(room, "/tree");
  await terminal.until(/pin +Never push/);
  terminal.press("up");
  terminal.press("up");
  terminal.press("enter");
  await terminal.until(/No summary/i);
  terminal.press("enter");
  await terminal.until(/Pinned: Never push to main\.\s/);
  command(room, "/pin");
  await terminal.until("every compaction keeps it");
});

test.each(["/clone", "/fork"])("%s keeps what is pinned, also behind a compaction", async (copy) => {
  const room = await opened();
  const { terminal } = room;
  command(room, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  command(room, "/compact");
  await terminal.until("Compacted: ");
  terminal.type("go on\n");
  await terminal.until("Well.");
  command(room, copy);
  if (copy === "/fork") {
    await terminal.until("which message is written anew");
    terminal.press("enter");
  }
  await terminal.until(/This is a (copy|new session)/);
  terminal.press("ctrl+c");
  command(room, "/pin");
  expect(await terminal.until("every compaction keeps it")).toContain(`› ${RULE}`);
  terminal.press("escape");
  await terminal.until((screen) => !screen.includes("every compaction keeps it"));
  command(room, "/export out.md");
  await terminal.until(/out\.md/);
  expect(readFileSync(join(room.project.cwd, "out.md"), "utf8")).toContain(RULE);
});

test("/undo keeps a pin, and it can be taken back behind that", async () => {
  const room = await opened();
  const { terminal } = room;
  command(room, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  command(room, "/compact");
  await terminal.until("Compacted: ");
  command(room, "/undo");
  await terminal.until("was taken back");
  command(room, "/pin");
  await terminal.until("every compaction keeps it");
  terminal.press("delete");
  await terminal.until("Nothing is pinned any more.");
  terminal.press("escape");
  await terminal.until(`Unpinned: ${RULE}`);
  command(room, "/pin");
  await terminal.until("Nothing is pinned. ");
});
