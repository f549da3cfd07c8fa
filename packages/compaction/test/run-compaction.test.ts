import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, planCompaction, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });

test("case 1: keep 200 of U,A,U,A cuts cleanly at the second U", async () => {
  const { session, id } = history("U:1000 A:1000 | U:100 A:100");
  const summariser = scriptedSummariser();
  const result = await runCompaction({ session, settings, summariser });
  expect(result).toMatchObject({ status: "compacted", rung: "summarise", splitTurn: false, requests: 1 });
  expect(result.firstKeptEntryId).toBe(id("u2"));
  expect(session.projection().items.map((item) => item.entryId)).toEqual([
    result.entryId,
    id("u2"),
    id("a2"),
  ]);
});

test("a plan is the run without the writing", async () => {
  const { session, id } = history("U:1000 A:1000 | U:100 A:100");
  const before = session.entries().length;
  const plan = planCompaction({ session, settings });
  expect(plan).toMatchObject({ status: "planned", summarizedEntryIds: [id("u1"), id("a1")], requests: 0 });
  expect(session.entries().length).toBe(before);
  const result = await runCompaction({ session, settings, summariser: scriptedSummariser() });
  expect(result.keptEntryIds).toEqual(plan.keptEntryIds);
});
