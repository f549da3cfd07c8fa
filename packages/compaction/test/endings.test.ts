import type { LifecycleNotice } from "@bonsai-agent/lifecycle";
import type { Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { BackgroundState } from "../src/events.ts";
import { compact } from "../src/flow/compaction.ts";
import {
  CompactionController,
  type CompactionReason,
  compactionSettings,
  runCompaction,
  type SummaryAnswer,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });
const model = { contextWindow: 60_000 };

function listening() {
  const log: string[] = [];
  const notices: LifecycleNotice[] = [];
  const lifecycle = compactionLifecycle(notices);
  lifecycle.on("auto_compaction_start", () => void log.push("start"));
  lifecycle.on("session_compact_failed", () => void log.push("failed"));
  lifecycle.on("auto_compaction_end", ({ outcome }) => void log.push(`end ${outcome.status}`));
  return { lifecycle, log, notices };
}

/** A session whose context cannot be read, as when its file was taken away. */
function unreadable(): Session {
  const { session } = history("U:30000 A:30000 | U:100 A:100");
  session.projection = () => {
    throw new Error("the file is gone");
  };
  return session;
}

test("a context that cannot be read ends a compaction with one failure and one end event", () =>
  everyRow<CompactionReason>(["manual", "threshold", "overflow"])(async (reason) => {
    const { lifecycle, log } = listening();
    const result = await runCompaction({ session: unreadable(), settings, model, lifecycle, reason });
    const code = reason === "overflow" ? "context_too_large" : "compaction_failed";
    expect(result).toMatchObject({ status: "failed", reason, error: { code } });
    expect(result.detail).toContain("the file is gone");
    expect(log).toEqual(["start", "failed", "end failed"]);
  }));

test("a background summary ends in order on a full disk", () =>
  everyRow<[string, Partial<SummaryAnswer>, BackgroundState]>([
    ["a good answer", {}, "ready"],
    ["an error", { stopReason: "error", errorMessage: "down" }, "failed"],
  ])(async ([, answer, ending]) => {
    const { session } = history("U:5000 A:10 U:6500 A:10 U:1500 A:10");
    const states: BackgroundState[] = [];
    const controller = new CompactionController({
      session,
      settings: compactionSettings({}, { estimator: "chars4" }),
      model: () => ({ contextWindow: 20_000 }),
      summariser: scriptedSummariser([answer, answer]),
      onBackground: ({ state }) => void states.push(state),
    });
    session.append = () => {
      throw new Error("no space left");
    };
    await controller.checkThreshold({ site: "betweenTools" });
    await new Promise(setImmediate);
    expect(states).toEqual(["begun", ending]);
    controller.modelChanged();
    expect(controller.isDraftUnderway).toBe(false);
  }));

test("an append that fails is a failure, with one end event, and the lock is free", async () => {
  const { session } = history("U:30000 A:30000 | U:100 A:100");
  const { lifecycle, log } = listening();
  const before = session.projection().items;
  const controller = new CompactionController({ session, settings, model: () => model, lifecycle });
  session.append = () => {
    throw new Error("no space left");
  };
  const outcome = await controller.compact();
  expect(outcome).toMatchObject({ status: "failed", detail: expect.stringContaining("no space left") });
  expect(controller.isRunning).toBe(false);
  expect(log).toEqual(["start", "failed", "end failed"]);
  expect(session.projection().items).toBe(before);
});

test("the controller never rejects: what it cannot read or ask for is an outcome", async () => {
  const warnings: string[] = [];
  const onWarning = (error: Error) => void warnings.push(error.message);
  const blind = new CompactionController({ session: unreadable(), settings, model: () => model, onWarning });
  expect((await blind.checkThreshold({ site: "beforePrompt" })).status).toBe("failed");
  expect((await blind.checkThreshold({ site: "betweenTools" })).status).toBe("failed");
  expect((await blind.recoverFromOverflow()).status).toBe("failed");
  expect((await blind.compact()).status).toBe("failed");
  expect(warnings).toEqual([expect.stringContaining("the file is gone")]);

  const { session } = history("U:30000 A:30000 | U:100 A:100");
  const noModel = () => {
    throw new Error("no such model");
  };
  const lost = new CompactionController({ session, settings, model: noModel });
  expect(await lost.compact()).toMatchObject({
    status: "failed",
    detail: expect.stringContaining("no such model"),
  });
  expect(lost.isRunning).toBe(false);
});

test("a lock that fails to open does not swallow the end event", async () => {
  const { session } = history("U:30000 A:30000 | U:100 A:100");
  const { lifecycle, log } = listening();
  const onCommitted = () => {
    throw new Error("stuck");
  };
  await expect(compact({ session, settings, lifecycle, onCommitted })).rejects.toThrow("stuck");
  expect(log).toEqual(["start", "end compacted"]);
});

test("a wrong answer to an event is reported and changes nothing", () =>
  everyRow([
    ["session_before_compact", { cancle: true }, "fields {cancle}"],
    ["session_before_compact", { cancel: "yes" }, "fields {cancel}"],
    ["session_before_compact", { compaction: "a text" }, "a summary that is not an object"],
    ["session_before_mask", { keeps: [] }, "fields {keeps}"],
    ["session_before_mask", { keep: "t1" }, "fields {keep}"],
  ] as const)(async ([event, slip, received]) => {
    const { session } = history("U:30 A(t1):10 T1:65000 A:10 | U:30 A:50 A:500");
    const { lifecycle, notices } = listening();
    lifecycle.on(event, () => slip as never, { source: "sloppy" });
    const summariser = scriptedSummariser();
    expect((await runCompaction({ session, settings, summariser, lifecycle })).status).toBe("compacted");
    expect(notices).toEqual([
      { type: "invalid_result", event, source: "sloppy", received: expect.stringContaining(received) },
    ]);
  }));

test("two handlers can each keep a result unmasked", async () => {
  const { session, id } = history(
    "U:10 A(t1):10 T1:25000 A(t2):10 T2:15000 A:10 | U:10 A(t3):10 T3:30000 A:10",
  );
  const { lifecycle } = listening();
  lifecycle.on("session_before_mask", () => ({ keep: [id("t1")] }));
  lifecycle.on("session_before_mask", () => ({ keep: [id("t2")] }));
  const keepAll = compactionSettings({ keepRecentTokens: 100_000 }, { estimator: "chars4" });
  const run = { session, settings: keepAll, model: { contextWindow: 80_000 }, lifecycle };
  expect((await runCompaction({ ...run, reason: "threshold" })).maskedEntryIds).toEqual([]);
});

test("one extension cannot change what the next one is shown", async () => {
  const { session } = history("U:30000 A:30000 | U:100 A:100");
  const { lifecycle } = listening();
  lifecycle.on("session_before_compact", ({ preparation }) => {
    expect(() => (preparation.messagesToSummarize as unknown[]).pop()).toThrow(TypeError);
    expect(() => Object.assign(preparation, { tokensBefore: 1 })).toThrow(TypeError);
    expect(() => Object.assign(preparation.settings, { keepRecentTokens: 1 })).toThrow(TypeError);
  });
  expect((await runCompaction({ session, settings, lifecycle })).status).toBe("compacted");
  expect(Object.isFrozen(settings)).toBe(false);
  expect.assertions(5);
});

test("an overflow by system prompt and tools alone says that no compaction can help", async () => {
  const { session } = history("U:10");
  const refusal = { inputTokens: 1_833 };
  const fixedTexts = () => ["x".repeat(4 * 1_823)];
  const model = { contextWindow: 1_500 };
  const run = { session, settings, model, reason: "overflow" as const, refusal, fixedTexts };
  const { error } = await runCompaction(run);
  expect(error?.message).toContain(
    "Cause: the system prompt and the tools alone take ~1,823 tokens; the model's window is 1,500.",
  );
});
