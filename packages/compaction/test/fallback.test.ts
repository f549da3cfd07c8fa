import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type CompactionReason, compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const LONG = "U:30000 A:30000 | U:100 A:100";

/** The policy: what becomes of a compaction whose summariser fails. */
test.each<[fallback: "always" | "overflow" | "never", reason: CompactionReason, rung: string | null]>([
  ["always", "manual", "digest"],
  ["always", "threshold", "digest"],
  ["always", "overflow", "digest"],
  ["overflow", "manual", null],
  ["overflow", "threshold", null],
  ["overflow", "overflow", "digest"],
  ["never", "manual", null],
  ["never", "threshold", null],
])("fallback %s, %s: the rung that saves it is %s", async (fallback, reason, rung) => {
  const { session } = history(LONG);
  const digest = scriptedSummariser();
  const before = session.entries().length;
  const result = await runCompaction({
    session,
    reason,
    digest,
    settings: compactionSettings({ estimator: "chars4", summarizer: { fallback } }),
    model: { contextWindow: 60_000 },
    summariser: scriptedSummariser([new Error("no connection")]),
  });
  expect(result).toMatchObject({ status: rung === null ? "failed" : "compacted", rung });
  expect(result.failures[0]).toMatchObject({ rung: "summarise", message: "no connection" });
  expect(digest.requests.length > 0).toBe(rung === "digest");
  if (rung === null) expect(session.entries().length).toBe(before);
});

test("the summariser's cost is in the result, and stored with the entry", async () => {
  const { session } = history(LONG);
  const result = await runCompaction({
    session,
    settings: compactionSettings({ estimator: "chars4" }),
    model: { contextWindow: 60_000 },
    summariser: scriptedSummariser(),
  });
  expect(result).toMatchObject({ status: "compacted", requests: 1, costUsd: 0.01 });
  expect(result.entry?.usage?.cost.total).toBe(0.01);
});
