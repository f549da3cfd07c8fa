import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionSettingsInput,
  compactionSettings,
  MASK_PLACEHOLDER,
  planCompaction,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const model = { contextWindow: 80_000 };
const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings({ estimator: "chars4", ...input });
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
  const settings = settingsFor({ mask: { mode: "local" }, keepRecentTokens: 20_000 });
  const masked = (notation: string) => {
    const { session, name } = history(notation);
    return planCompaction({ session, settings, model, reason: "manual" }).maskedEntryIds.map(name);
  };
  const older = "U:10 A:10 | U:90000 A:10 | U:10";
  expect(masked(`${older} A(t1):10 T1:600 A(t2):10 T2:1900 A:10`)).toEqual(["t1"]);
  expect(masked(`${older} A(t1):10 T1:400 A(t2):10 T2:1900 A:10`)).toEqual([]);
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

test.each(["error", "aborted"])(
  "an answer that ended with %s has answered nothing: nothing is masked",
  (stop) => {
    const { session } = history(`U:10 A:10 | U:10 A(t1 t2):10 T1:50000 T2:50000 A~${stop}`);
    const plan = planCompaction({ session, settings: settingsFor(), model, reason: "overflow" });
    expect(plan.maskedEntryIds).toEqual([]);
  },
);

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
