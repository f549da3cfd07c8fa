import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  CompactionController,
  type CompactionReason,
  compactionSettings,
  runCompaction,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const model = { contextWindow: 60_000 };

test("masks and summary are written in one append, and each reaches its event", async () => {
  const { session, id } = history("U:30000 A:30000 | U:10 A(t1):10 T1:5000 A(t2):10 T2:3000 A:10");
  const mask = { protectTokens: 2_000, minimumTokens: 1_000 };
  const settings = compactionSettings({ keepRecentTokens: 7_000, mask }, { estimator: "chars4" });
  const written: string[][] = [];
  const append = session.append.bind(session) as (drafts: unknown) => never;
  session.append = ((drafts: ReadonlyArray<{ type: string }>) => {
    written.push(drafts.map(({ type }) => type));
    return append(drafts);
  }) as unknown as typeof session.append;
  const result = await runCompaction({
    session,
    settings,
    model,
    summariser: scriptedSummariser(),
    reason: "threshold",
  });
  expect(result).toMatchObject({ status: "compacted", maskedEntryIds: [id("t1"), id("t2")] });
  expect(written).toEqual([["context_edit", "context_edit", "compaction"]]);
});

test("the events say whether the request is tried again", () =>
  everyRow<[CompactionReason, boolean]>([
    ["overflow", true],
    ["threshold", false],
    ["manual", false],
  ])(async ([reason, willRetry]) => {
    const { session } = history("U:30000 A:30000 | U:100 A:100");
    const lifecycle = compactionLifecycle();
    const told: unknown[] = [];
    lifecycle.on("session_compact", (event) => void told.push([event.type, event.reason, event.willRetry]));
    lifecycle.on(
      "auto_compaction_end",
      (event) => void told.push([event.type, event.reason, event.willRetry]),
    );
    const settings = compactionSettings({}, { estimator: "chars4" });
    await runCompaction({ session, settings, model, lifecycle, summariser: scriptedSummariser(), reason });
    expect(told).toEqual([
      ["session_compact", reason, willRetry],
      ["auto_compaction_end", reason, willRetry],
    ]);
  }));

test("after an overflow that masks alone solved, the events say that the request is tried again", async () => {
  const { session } = history("U:10 A(t1):10 T1:66000");
  const lifecycle = compactionLifecycle();
  const ends: unknown[] = [];
  lifecycle.on(
    "auto_compaction_end",
    ({ outcome, willRetry }) => void ends.push([outcome.status, willRetry]),
  );
  const settings = compactionSettings({}, { estimator: "chars4" });
  await runCompaction({ session, settings, model, lifecycle, reason: "overflow" });
  expect(ends).toEqual([["masked", true]]);
});

test("after an overflow half of the context goes though all would fit, and its size is reported as read", async () => {
  const { session, id } = history("U:1000 A:1000 | U:100 A:100");
  const settings = compactionSettings({}, { estimator: "chars4" });
  const options = { session, settings, model, summariser: scriptedSummariser() };
  const result = await runCompaction({ ...options, reason: "overflow" });
  expect(result).toMatchObject({ status: "compacted", tokensBefore: 2_200 });
  expect(result.keptEntryIds).toEqual([id("a1"), id("u2"), id("a2")]);
  expect(result.entry).toMatchObject({ tokensBefore: 2_200 });
});

test("a compaction that the user asks for ends a pause after too many compactions", async () => {
  const { session } = history("U:30000 A:30000 | U:100 A:100");
  const controller = new CompactionController({
    session,
    settings: compactionSettings({}, { estimator: "chars4" }),
    model: () => model,
    summariser: scriptedSummariser(),
  });
  const grownAndChecked = async () => {
    history("U:30000 A:30000 U:10 A:10", session);
    controller.userMessageArrived();
    return (await controller.checkThreshold({ site: "beforePrompt" })).status;
  };
  const seen = [];
  for (let time = 0; time < 4; time++) seen.push(await grownAndChecked());
  expect(seen).toEqual(["compacted", "compacted", "compacted", "skipped"]);
  expect((await controller.compact()).status).toBe("compacted");
  expect(await grownAndChecked()).toBe("compacted");
});
