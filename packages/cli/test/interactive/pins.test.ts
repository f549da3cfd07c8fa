import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type OpenedInteractive, openInteractive } from "./harness.ts";
import { longPlay, openLong } from "./long-setup.ts";

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
  const ui = await opened();
  command(ui, `/pin ${RULE}`);
  await ui.terminal.until(`Pinned: ${RULE}`);
  command(ui, `/pin ${RULE}`);
  await ui.terminal.until("This text is already pinned.");
  command(ui, "/compact");
  await ui.terminal.until("Compacted: ");
  expect(lastOf(ui.file, "compaction").summary).toContain(`<pinned>\n${RULE}\n</pinned>`);
  await ui.end();
  const again = await opened(ui.file);
  command(again, "/pin");
  expect(await again.terminal.until("compactions keep them")).toContain(`› ${RULE}`);
});

test("/pin alone lists what is pinned: Enter shows the whole text, Delete takes it back", async () => {
  const ui = await opened();
  const { terminal } = ui;
  command(ui, "/pin");
  await terminal.until("No pins yet.");
  command(ui, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  command(ui, `/pin First line.\n${"word ".repeat(80)}\nthe last line`);
  await terminal.until("the last line");
  command(ui, "/pin");
  await terminal.until("compactions keep them");
  terminal.press("down");
  terminal.press("enter");
  expect(await terminal.until(/the last line\n.*close/)).not.toContain("unpin");
  terminal.press("escape");
  await terminal.until("unpin");
  terminal.press("delete");
  await terminal.until("Unpinned: First line.");
  terminal.press("delete");
  await terminal.until("No pins left.");
  terminal.press("escape");
  await terminal.until(`Unpinned: ${RULE}`);
  command(ui, "/compact");
  await terminal.until("Compacted: ");
  expect(lastOf(ui.file, "compaction").summary).not.toContain("<pinned>");
});

test("a text that cannot be pinned returns to the editor, with the reason", async () => {
  const ui = await opened();
  command(ui, `/pin ${"x".repeat(4_100)}`);
  const screen = await ui.terminal.until("the limit is 4,000");
  expect(screen).toContain(`${"x".repeat(40)}\n`);
  ui.terminal.press("ctrl+c");
  command(ui, "/pin");
  await ui.terminal.until("No pins yet.");
});

test("a text that is pinned while the agent works is there before its next request, also after a stop", async () => {
  const slow: Scenario = { ...longPlay, turn: [{ text: "Well.", delayMs: 60_000 }] };
  const ui = openInteractive({ scenario: slow, rows: 40 });
  await ui.terminal.until("/100k");
  ui.terminal.type("hello\n");
  await ui.terminal.until("Waiting for the model");
  command(ui, `/pin ${RULE}`);
  await ui.terminal.until("Its next request will include this pin");
  command(ui, `/pin ${RULE}`);
  await ui.terminal.until("This text is already pinned.");
  command(ui, "/pin");
  await ui.terminal.until("compactions keep them");
  ui.terminal.press("escape");
  await ui.terminal.until((screen) => !screen.includes("compactions keep them"));
  ui.terminal.press("escape");
  await ui.terminal.until(` Pinned: ${RULE}`);
  command(ui, "/pin");
  await ui.terminal.until("compactions keep them");
});

test("the tree goes to a pin, and to before it", async () => {
  const ui = await opened();
  const { terminal } = ui;
  command(ui, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  terminal.type("go on\n");
  await terminal.until("Well.");
  command(ui, "/tree");
  await terminal.until(/pin +Never push/);
  // The prompt is between the answer and the pin.
  for (let row = 0; row < 2; row += 1) terminal.press("up");
  terminal.press("enter");
  await terminal.until(/No summary/i);
  terminal.press("enter");
  await terminal.until(/Pinned: Never push to main\.\s/);
  command(ui, "/pin");
  await terminal.until("compactions keep them");
});

test("/clone and /fork keep pins, even after a compaction", () =>
  everyRow(["/clone", "/fork"])(async (copy) => {
    const ui = await opened();
    const { terminal } = ui;
    command(ui, `/pin ${RULE}`);
    await terminal.until("Pinned: ");
    command(ui, "/compact");
    await terminal.until("Compacted: ");
    terminal.type("go on\n");
    await terminal.until("Well.");
    command(ui, copy);
    if (copy === "/fork") {
      await terminal.until("Fork from which message?");
      terminal.press("enter");
    }
    await terminal.until(/This is a (copy|new session)/);
    terminal.press("ctrl+c");
    command(ui, "/pin");
    expect(await terminal.until("compactions keep them")).toContain(`› ${RULE}`);
    terminal.press("escape");
    await terminal.until((screen) => !screen.includes("compactions keep them"));
    command(ui, "/export out.md");
    await terminal.until(/out\.md/);
    expect(readFileSync(join(ui.project.cwd, "out.md"), "utf8")).toContain(RULE);
  }));

test("/undo keeps a pin, and it can be taken back behind that", async () => {
  const ui = await opened();
  const { terminal } = ui;
  command(ui, `/pin ${RULE}`);
  await terminal.until("Pinned: ");
  command(ui, "/compact");
  await terminal.until("Compacted: ");
  command(ui, "/undo");
  await terminal.until("Undid the compaction");
  command(ui, "/pin");
  await terminal.until("compactions keep them");
  terminal.press("delete");
  await terminal.until("No pins left.");
  terminal.press("escape");
  await terminal.until(`Unpinned: ${RULE}`);
  command(ui, "/pin");
  await terminal.until("No pins yet. ");
});
