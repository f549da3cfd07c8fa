import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { flatScreen, play, summary } from "./compaction-setup.ts";
import { type OpenLongOptions, openLong } from "./long-setup.ts";

/** A summary is made, and no mask is enough. */
function open(confirm: "manual" | "always", options: OpenLongOptions = {}) {
  return openLong({ settings: { compaction: { confirm, mask: { enabled: false } } }, ...options });
}

const PLAN = "Nothing has been sent or saved yet.";
const READY = "Compact with this summary?";

test("/compact: the plan with its price, the draft, applied", async () => {
  const opened = await open("manual");
  const { terminal, file } = opened;
  const before = readFileSync(file, "utf8");
  terminal.type("/compact the tests\n");
  const plan = await terminal.until(PLAN);
  expect(plan).toMatch(/Plan +~?107,364 → (?:~|about )[\d,]+ tokens/);
  expect(plan.replaceAll(/\s+/g, " ")).toMatch(/1 request to .*[\d,]+ tokens of input/);
  expect(plan).toContain("Focus: the tests");
  expect(plan).toContain("Compacting...");
  terminal.press("enter");
  const draft = await terminal.until(READY);
  expect(draft).toMatch(/Draft +~?107,364 → (?:~|about )?[\d,]+ tokens/);
  expect(draft).toMatch(/so far 1\s+request/);
  expect(readFileSync(file, "utf8")).toBe(before);
  terminal.press("enter");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(
    /Compacted: ~?107,364 → (?:~|about )[\d,]+ tokens, with a summary; 1 request, free of charge\./,
  );
});

test("the report is scrolled to the summary as the model will see it", async () => {
  const { terminal } = await open("manual", { rows: 24 });
  terminal.type("/compact\n");
  await terminal.until(PLAN);
  terminal.press("enter");
  await terminal.until(READY);
  for (let page = 0; page < 40 && !terminal.screen().includes("Made it."); page++) {
    terminal.press("pageDown");
    await terminal.settle();
  }
  expect(terminal.screen()).toContain("Made it.");
});

test("the summary can be edited: an empty text from $EDITOR is refused, Esc discards an edit, Enter shows it as yours", async () => {
  const opened = await open("manual", { env: { VISUAL: "printf '' >" } });
  const { terminal, file } = opened;
  terminal.type("/compact\n");
  await terminal.until(PLAN);
  terminal.press("enter");
  await terminal.until(READY);
  terminal.press("ctrl+g");
  await terminal.until("The edited summary is empty.");
  terminal.press("e", "enter");
  await terminal.until("Edit the summary");
  await terminal.until(summary.split("\n").at(-1)!);
  terminal.type(" Discarded.");
  terminal.press("esc");
  await terminal.until(READY);
  terminal.press("e", "enter");
  await terminal.until("Edit the summary");
  terminal.type(" The port is 8123.");
  terminal.press("enter");
  await terminal.until(/edited by\s+you/);
  terminal.press("enter");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toContain("with a summary; edited by you; 1 request, free of charge.");
  expect(readFileSync(file, "utf8")).toContain("The port is 8123.");
  expect(readFileSync(file, "utf8")).not.toContain("Discarded.");
});

test("changed focus, cut and digest leave the file as it was after a cancel", async () => {
  const { terminal, file } = await open("manual");
  const before = readFileSync(file, "utf8");
  terminal.type("/compact\n");
  const first = await terminal.until(PLAN);
  terminal.press("m", "enter");
  await terminal.until((screen) => screen.includes(PLAN) && screen !== first);
  terminal.press("f", "enter");
  await terminal.until("focus on?");
  terminal.type("the ports\n");
  await terminal.until("Focus: the ports");
  terminal.press("a", "enter");
  await terminal.until(READY);
  terminal.press("f", "enter");
  await terminal.until("focus on?");
  terminal.press("enter");
  await terminal.until(PLAN);
  terminal.press("b", "enter");
  await terminal.until(READY);
  terminal.press("d", "enter");
  await terminal.until("Summary by digest");
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  expect(readFileSync(file, "utf8")).toBe(before);
});

test('with "always" the agent waits, typed text is queued, and a decline continues the task', async () => {
  const { terminal } = await open("always", { scenario: { ...play, turn: [{ text: "Well done." }] } });
  terminal.type("go on\n");
  await terminal.until(PLAN);
  terminal.type("and be quick");
  await terminal.until("Typed text goes to the prompt. Press Tab to answer here.");
  terminal.press("enter");
  await terminal.until((screen) => screen.includes("and be quick") && !screen.includes("Typed text goes"));
  expect(terminal.screen()).toContain(PLAN);
  terminal.press("esc");
  await terminal.until("Well done.");
  expect(terminal.scrollback()).toContain("Compaction cancelled. Nothing changed.");
});

test("the review fits any terminal, even if it shrinks", async () => {
  const { terminal } = await open("manual", { columns: 80, rows: 24 });
  terminal.type("/compact\n");
  await terminal.until("Compact? Nothing");
  const expectFits = async (...words: string[]) => {
    for (const [columns, rows] of [
      [60, 16],
      [120, 40],
      [40, 12],
      [80, 24],
    ] as const) {
      const drawn = terminal.nextFrame();
      terminal.resize(columns, rows);
      await drawn;
      for (const each of words) await terminal.until(each);
    }
  };
  await expectFits("Compact? Nothing", "a Write the summary", "c Cancel");
  terminal.press("enter");
  await terminal.until("Compact with this");
  await expectFits("Compact with this", "a Apply", "c Cancel");
});
