import { expect, test } from "vitest";
import { openLong, play } from "./compaction-setup.ts";

test("/session shows the compactions of the current path", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.resize(80, 50);
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  terminal.type("/session\n");
  await terminal.until("Latest compaction");
  terminal.press("esc");
  terminal.type("/undo\n");
  await terminal.until("Undid the compaction");
  terminal.type("/session\n");
  expect(await terminal.until("close")).not.toContain("Latest compaction");
});

test("/context is a panel: scrolled where it is tall, left by Esc, and the editor has what was typed", async () => {
  const { terminal } = await openLong(play);
  terminal.resize(40, 20);
  terminal.type("/context\n");
  await terminal.until("close");
  expect(terminal.screen()).toContain("Context: ~107,364");
  terminal.press("pageDown");
  await terminal.until("Largest messages");
  terminal.press("pageUp");
  await terminal.until("Context: ~107,364");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Context: ~107,364"));
  terminal.type("still here");
  await terminal.until("still here");
});

test("the notice of a compaction is gone after /tree has moved to before the compaction", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  terminal.type("/undo\n");
  await terminal.until("Undid the compaction");
  expect(terminal.screen()).toContain("Compacted: ");
  terminal.type("/tree\n");
  expect(await terminal.until(/compaction +undone of/)).toContain("undone of ~107,364 tokens");
  terminal.press("up");
  terminal.press("up");
  terminal.press("enter");
  await terminal.until(/No summary/i);
  terminal.press("enter");
  await terminal.until((screen) => !/no summary/i.test(screen));
  await terminal.settle();
  expect(terminal.screen()).not.toContain("Compacted: ");
  expect(terminal.screen()).not.toContain("Undid the compaction");
});
