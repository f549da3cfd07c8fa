import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type CompactionReason, compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const LONG = "U:30000 A:30000 | U:100 A:100";

/** The policy: what becomes of a compaction whose summariser fails. */
test("the settings and the reason decide the rung that saves a failed summary", () =>
  everyRow<[fallback: "always" | "overflow" | "never", reason: CompactionReason, rung: string | null]>([
    ["always", "manual", "digest"],
    ["always", "threshold", "digest"],
    ["always", "overflow", "digest"],
    ["overflow", "manual", null],
    ["overflow", "threshold", null],
    ["overflow", "overflow", "digest"],
    ["never", "manual", null],
    ["never", "threshold", null],
  ])(async ([fallback, reason, rung]) => {
    const { session } = history(LONG);
    const digest = scriptedSummariser();
    const before = session.entries().length;
    const result = await runCompaction({
      session,
      reason,
      digest,
      settings: compactionSettings({ summarizer: { fallback } }, { estimator: "chars4" }),
      model: { contextWindow: 60_000 },
      summariser: scriptedSummariser([new Error("no connection")]),
    });
    expect(result).toMatchObject({ status: rung === null ? "failed" : "compacted", rung });
    expect(result.failures[0]).toMatchObject({ rung: "summarise", message: "no connection" });
    expect(digest.requests.length > 0).toBe(rung === "digest");
    if (rung === null) expect(session.entries().length).toBe(before);
  }));

test("without a word about it in the settings, the digest stands in; the presets of other agents have none", () => {
  expect(compactionSettings().summarizer.fallback).toBe("always");
  for (const preset of ["pi", "klaude", "tunacode", "opencode"])
    expect(compactionSettings({ preset }).summarizer.fallback).toBe("never");
});

test("the hint offers the digest unless the settings use it already", () =>
  everyRow([
    ["overflow", true],
    ["always", false],
  ] as const)(async ([fallback, isOffered]) => {
    const { session } = history(LONG);
    const { error, status } = await runCompaction({
      session,
      digest: scriptedSummariser([{ text: "" }]),
      settings: compactionSettings({ summarizer: { fallback } }, { estimator: "chars4" }),
      model: { contextWindow: 60_000 },
      summariser: scriptedSummariser([new Error("no connection")]),
    });
    expect(status).toBe("failed");
    expect(error?.hint?.includes("/compact digest")).toBe(isOffered);
  }));

test("why it is the digest's is said also where more was cut after it", async () => {
  const { session } = history("U:30000 A:30000 | U:100 A(t1):10 T1:70000");
  const result = await runCompaction({
    session,
    reason: "overflow",
    digest: scriptedSummariser(),
    settings: compactionSettings({ mask: { enabled: false } }, { estimator: "chars4" }),
    model: { contextWindow: 60_000 },
    summariser: scriptedSummariser([new Error("no connection")]),
  });
  expect(result).toMatchObject({ status: "compacted", rung: "truncate", summarisedBy: "digest" });
  expect(result.detail).toContain(
    "Used the built-in digest because the model's summary failed: no connection.",
  );
});

test("the summariser's cost is in the result, and stored with the entry", async () => {
  const { session } = history(LONG);
  const result = await runCompaction({
    session,
    settings: compactionSettings({}, { estimator: "chars4" }),
    model: { contextWindow: 60_000 },
    summariser: scriptedSummariser(),
  });
  expect(result).toMatchObject({ status: "compacted", requests: 1, costUsd: 0.01 });
  expect(result.entry?.usage?.cost.total).toBe(0.01);
});
