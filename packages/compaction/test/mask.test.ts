import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionSettingsInput,
  compactionSettings,
  MASK_PLACEHOLDER,
  planCompaction,
  runCompaction,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const model = { contextWindow: 80_000 };
const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings(input, { estimator: "chars4" });
/** Tool results of 30k, 15k and 25k tokens, new to old, over two user turns. */
const CASE_27 = "U:10 A(t1):10 T1:25000 A(t2):10 T2:15000 A:10 | U:10 A(t3):10 T3:30000 A:10";

test("case 27: the result that crosses 40k and all older are masked, with the exact text", async () => {
  const { session, id } = history(CASE_27);
  const result = await runCompaction({ session, settings: settingsFor(), model, reason: "threshold" });
  expect(result).toMatchObject({ status: "masked", rung: "mask" });
  expect(result.maskedEntryIds).toEqual([id("t1"), id("t2")]);
  const shown = session.projection().items.filter((item) => item.edit !== undefined);
  expect(shown.map((item) => [item.entryId, item.message])).toEqual([
    [
      id("t1"),
      expect.objectContaining({ content: [{ type: "text", text: "[Old tool result content cleared]" }] }),
    ],
    [
      id("t2"),
      expect.objectContaining({ content: [{ type: "text", text: "[Old tool result content cleared]" }] }),
    ],
  ]);
});

test("case 27: a second run reclaims nothing", async () => {
  const { session } = history(CASE_27);
  await runCompaction({ session, settings: settingsFor(), model, reason: "threshold" });
  const again = planCompaction({ session, settings: settingsFor(), model, reason: "manual" });
  expect(again.maskedEntryIds).toEqual([]);
});

test("case 27: with one user turn nothing is masked", () => {
  const { session } = history("A(t1):10 T1:25000 A(t2):10 T2:15000 | U:10 A(t3):10 T3:30000 A:10");
  const plan = planCompaction({ session, settings: settingsFor(), model, reason: "threshold" });
  expect(plan).toMatchObject({ rung: null, maskedEntryIds: [] });
});

test("case 27: local mode protects 2k and asks for 500", () => {
  const settings = settingsFor({
    mask: { protectTokens: 2_000, minimumTokens: 500 },
    keepRecentTokens: 20_000,
  });
  const masked = (notation: string) => {
    const { session, name } = history(notation);
    return planCompaction({ session, settings, model, reason: "manual" }).maskedEntryIds.map(name);
  };
  const older = "U:10 A:10 | U:90000 A:10 | U:10";
  expect(masked(`${older} A(t1):10 T1:600 A(t2):10 T2:1900 A:10`)).toEqual(["t1"]);
  expect(masked(`${older} A(t1):10 T1:400 A(t2):10 T2:1900 A:10`)).toEqual([]);
  // A result that is shorter than the placeholder stays as it is.
  expect(masked(`${older} A(t0):10 T0:1 A(t1):10 T1:600 A(t2):10 T2:1900 A:10`)).toEqual(["t1"]);
});

test("a user's compaction whose masks alone make the rest fit what is kept writes the masks", async () => {
  const { session, id } = history(CASE_27);
  const settings = settingsFor({ keepRecentTokens: 50_000 });
  const plan = planCompaction({ session, settings, reason: "manual" });
  expect(plan).toMatchObject({ status: "planned", rung: "mask", maskedEntryIds: [id("t1"), id("t2")] });
  const result = await runCompaction({ session, settings, reason: "manual" });
  expect(result).toMatchObject({ status: "masked", rung: "mask", maskedEntryIds: [id("t1"), id("t2")] });
  expect(result.tokensAfter).toBeLessThan(50_000);
  const again = await runCompaction({ session, settings, reason: "manual" });
  expect(again).toMatchObject({ status: "nothing-to-compact", edits: [] });
});

test("a user's compaction of what fits as it is masks nothing", async () => {
  const { session } = history(CASE_27);
  const settings = settingsFor({ keepRecentTokens: 80_000 });
  const result = await runCompaction({ session, settings, reason: "manual" });
  expect(result).toMatchObject({ status: "nothing-to-compact", edits: [] });
});

test("results that the model has not answered are never masked", () => {
  const { session } = history("U:10 A:10 | U:10 A(t1 t2):10 T1:50000 T2:50000");
  const plan = planCompaction({ session, settings: settingsFor(), model, reason: "threshold" });
  expect(plan.maskedEntryIds).toEqual([]);
});

test("an answer that failed or was aborted has answered nothing: nothing is masked", () =>
  everyRow(["error", "aborted"])((stop) => {
    const { session } = history(`U:10 A:10 | U:10 A(t1 t2):10 T1:50000 T2:50000 A~${stop}`);
    const plan = planCompaction({ session, settings: settingsFor(), model, reason: "overflow" });
    expect(plan.maskedEntryIds).toEqual([]);
  }));

test("case 28: masks alone bring the context under the threshold: no request, one write of edits", async () => {
  const { session } = history(CASE_27);
  const summariser = scriptedSummariser();
  const before = session.entries().length;
  const result = await runCompaction({
    session,
    settings: settingsFor(),
    model,
    summariser,
    reason: "threshold",
  });
  expect(result.status).toBe("masked");
  expect(summariser.requests).toEqual([]);
  expect(
    session
      .entries()
      .slice(before)
      .map((entry) => entry.type),
  ).toEqual(["context_edit", "context_edit"]);
  expect(result.tokensAfter).toBeLessThan(80_000 - 16_384);
});

test("a summary is made of the full results, masked or not", async () => {
  const { session } = history(`${CASE_27} M(t1) U:30000 A:10`);
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings: settingsFor(), model, summariser });
  const texts = JSON.stringify(summariser.requests.map((request) => request.messages));
  expect(texts).toContain("t1 goes on.");
  expect(texts).not.toContain(MASK_PLACEHOLDER);
});

test("old outputs of the user's commands are masked like tool results; the commands stay, and so does what is stored", async () => {
  const { session, id } = history(
    "B:25000 U:10 A:10 | B:15000 U:10 A:10 | U:10 A(t3):10 T3:30000 A:10 | B:50000! U:10 A:10",
  );
  const result = await runCompaction({ session, settings: settingsFor(), model, reason: "threshold" });
  expect(result).toMatchObject({ status: "masked", rung: "mask", maskedEntryIds: [id("b1"), id("b2")] });
  const shown = session.projection().items.filter((item) => item.edit !== undefined);
  expect(shown.map(({ entryId, message }) => [entryId, message])).toEqual([
    [id("b1"), expect.objectContaining({ command: "run b1", output: MASK_PLACEHOLDER })],
    [id("b2"), expect.objectContaining({ command: "run b2", output: MASK_PLACEHOLDER })],
  ]);
  expect(session.entry(id("b1"))).toMatchObject({
    message: { output: expect.stringContaining("b1 goes on.") },
  });
  const again = planCompaction({ session, settings: settingsFor(), model, reason: "threshold" });
  expect(again).toMatchObject({ rung: null, maskedEntryIds: [] });
});

const TURNS = Array.from({ length: 10 }, () => "U:2000 A:2000").join(" | ");

test("a huge output of a command does not eat the budget of what is kept", async () => {
  const { session, id, name } = history(`${TURNS} | B:37000 U:20 A:500`);
  const settings = settingsFor();
  const planned = planCompaction({ session, settings, reason: "manual" });
  const result = await runCompaction({
    session,
    settings,
    reason: "manual",
    summariser: scriptedSummariser(),
  });
  expect(result.status).toBe("compacted");
  expect(result.keptEntryIds.map(name)).toEqual(
    expect.arrayContaining(["u8", "a8", "u9", "a9", "u10", "a10", "b1", "u11", "a11"]),
  );
  expect(planned.keptEntryIds).toEqual(result.keptEntryIds);
  expect(result.tokensAfter).toBeLessThan(24_000);
  const seen = session.projection().items.find(({ entryId }) => entryId === id("b1"))!.message;
  expect(seen).toMatchObject({
    command: "run b1",
    output: expect.stringMatching(/\[… \d+ more characters …\]/),
  });
  expect(planCompaction({ session, settings, reason: "manual" }).status).toBe("already-compacted");
});

test("if the rest fits, only the output is shortened", async () => {
  const { session } = history("U:2000 A:2000 | B:37000 U:20 A:500");
  const summariser = scriptedSummariser();
  const result = await runCompaction({ session, settings: settingsFor(), reason: "manual", summariser });
  expect(result).toMatchObject({ status: "masked", requests: 0 });
  expect(result.tokensAfter).toBeLessThan(10_000);
  const again = await runCompaction({ session, settings: settingsFor(), reason: "manual", summariser });
  expect(again).toMatchObject({ status: "nothing-to-compact", edits: [] });
});

test("an output that the model has not answered stays whole, and does not eat the budget either", async () => {
  const { session, id, name } = history(`${TURNS} | B:37000 U:20`);
  const result = await runCompaction({
    session,
    settings: settingsFor(),
    model: { contextWindow: 90_000 },
    reason: "threshold",
    summariser: scriptedSummariser(),
  });
  expect(result.keptEntryIds.map(name)).toContain("u8");
  const seen = session.projection().items.find(({ entryId }) => entryId === id("b1"))!;
  expect(seen.edit).toBeUndefined();
});

test("if it still does not fit, the last rung cuts it to head and tail", async () => {
  const { session, id } = history("U:10 A:10 | B:90000 U:20");
  const result = await runCompaction({ session, settings: settingsFor(), model, reason: "overflow" });
  expect(result.tokensAfter).toBeLessThan(80_000);
  const seen = session.projection().items.find(({ entryId }) => entryId === id("b1"))!.message;
  expect(seen).toMatchObject({
    command: "run b1",
    output: expect.stringMatching(/\[… \d+ more characters …\]/),
  });
});

test("an extension may keep a command's output whole; without masks it counts in full", async () => {
  const { session, id, name } = history(`${TURNS} | B:37000 U:20 A:500`);
  const off = settingsFor({ mask: { enabled: false } });
  const { keptEntryIds } = planCompaction({ session, settings: off, reason: "manual" });
  expect(keptEntryIds.map(name)).toEqual(["b1", "u11", "a11"]);
  const asked: unknown[] = [];
  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_mask", ({ results }) => {
    asked.push(...results);
    return { keep: [id("b1")] };
  });
  await runCompaction({ session, settings: settingsFor(), lifecycle, digest: scriptedSummariser() });
  expect(asked).toEqual([{ entryId: id("b1"), toolName: "", tokens: 37_000 }]);
  expect(session.projection().items.some(({ edit }) => edit !== undefined)).toBe(false);
});

test("a summary of a command is made of what it printed, masked or not", async () => {
  const { session } = history(`B:25000 U:10 A:10 M(b1) | ${TURNS}`);
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings: settingsFor(), summariser });
  const texts = JSON.stringify(summariser.requests.map((request) => request.messages));
  expect(texts).toContain("b1 goes on.");
  expect(texts).not.toContain(MASK_PLACEHOLDER);
});
