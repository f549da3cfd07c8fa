import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  flatScreen,
  openLong,
  openWithoutFallback,
  play,
  refusing,
  summary,
  times,
} from "./compaction-setup.ts";

test("a failed /compact gives the reasons and the remedy once, and leaves the file as it was; a later success removes the notice", async () => {
  const error = { status: 400, message: "no summary today" };
  const opened = await openWithoutFallback({ ...play, summary: [{ error }, { text: summary }] });
  const { terminal, file } = opened;
  const before = readFileSync(file, "utf8");
  terminal.type("/compact\n");
  await terminal.until("Compact with the built-in digest?");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Compact with the built-in digest?"));
  expect(flatScreen(opened)).toMatch(
    /Compaction failed\. Causes: .*no summary today.*built-in digest.*`\/compact digest`/,
  );
  expect(times(flatScreen(opened), "Compaction failed.")).toBe(1);
  expect(readFileSync(file, "utf8")).toBe(before);
  terminal.type("/compact\n");
  const screen = await terminal.until("Compacted: ");
  expect(screen).toContain("[compaction] Compacted from");
  expect(screen).not.toContain("Compaction failed");
});

test("yes to the question of a failed /compact compacts with the digest", async () => {
  const opened = await openWithoutFallback(refusing);
  const { terminal } = opened;
  terminal.type("/compact the tests\n");
  await terminal.until("Compact with the built-in digest?");
  terminal.type("y");
  terminal.press("enter");
  const screen = await terminal.until("Compacted: ");
  expect(screen).not.toContain("Compaction failed");
  expect(flatScreen(opened)).toMatch(/with the built-in digest\./);
});

test("/compact uses the digest if the summary fails, and gives the reason", async () => {
  const opened = await openLong(refusing);
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(
    /with the built-in digest; 1 request, free of charge\. Used the built-in digest because the model's summary failed: .*no summary today/,
  );
  expect(opened.terminal.screen()).not.toContain("Compact with the built-in digest?");
});

test("the activity line counts down to the next summary request, and Esc cancels it", async () => {
  const error = { status: 529, message: "overloaded today" };
  const { terminal } = await openLong({ ...play, summary: [{ error }] }, { BONSAI_DISABLE_MASK: "1" });
  terminal.type("go on\n");
  await terminal.until(/Auto-compacting\.\.\. retry 1 of \d+ in \d+ s \(Esc to cancel\) · .*overl/);
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  await terminal.until("Well.");
  expect(terminal.screen()).not.toMatch(/retry 1|Retrying/);
});

test("a notice reports a /compact that was stopped together with the run", async () => {
  const turn = [{ text: "Looking around.", delayMs: 60_000 }];
  const opened = await openLong({ ...play, turn }, { BONSAI_DISABLE_AUTOCOMPACT: "1" });
  const { terminal } = opened;
  terminal.type("look\n");
  await terminal.until("Waiting for the model");
  terminal.type("/compact\n");
  await terminal.until("as soon as the current step ends");
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  expect(flatScreen(opened)).toContain("The user stopped the agent before the compaction began.");
});
