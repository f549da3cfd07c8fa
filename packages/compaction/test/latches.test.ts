import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { ControllerOptions } from "../src/flow/controller.ts";
import { CompactionController, compactionSettings } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const LONG = "U:30000 A:30000 | U:100 A:100";
const broken = { stopReason: "error" as const, errorMessage: "the model is down" };

function controllerFor(options: Partial<ControllerOptions> = {}) {
  const { session } = history(LONG);
  const warnings: string[] = [];
  const controller = new CompactionController({
    session,
    settings: compactionSettings({ summarizer: { fallback: "never" } }, { estimator: "chars4" }),
    model: () => ({ contextWindow: 60_000 }),
    digest: scriptedSummariser(),
    onWarning: (error) => warnings.push(error.code),
    ...options,
  });
  const check = () => controller.checkThreshold({ site: "betweenTools" });
  const grow = () => history("U:30000 A:30000 U:10 A:10", session);
  return { controller, warnings, check, grow };
}

test("a task whose first results fill the window has nothing to summarise yet, and that is no failure", async () => {
  const { session } = history("U:100 A(t1 t2):10 T1:30000 T2:30000");
  const summariser = scriptedSummariser();
  const { controller, warnings, check } = controllerFor({ session, summariser });
  expect((await check()).status).toBe("skipped");
  expect(summariser.requests).toEqual([]);
  history("A(t3):10 T3:3000", session);
  controller.answerArrived();
  expect((await check()).status).toBe("compacted");
  expect(warnings).toEqual([]);
});

test.each([
  ["1.1 times the window", "U:10 A(t1):0 T1:65985", "skipped", 0],
  ["one token more", "U:10 A(t1):0 T1:65986", "masked", 1],
])("%s: a request is %s", async (_, notation, status, edits) => {
  const { session } = history(notation);
  const { controller } = controllerFor({
    session,
    settings: compactionSettings({ enabled: false }, { estimator: "chars4" }),
  });
  const { detail, ...outcome } = await controller.fitBeforeSending();
  expect(outcome.status).toBe(status);
  expect(detail === "The context fits the window.").toBe(edits === 0);
  expect(session.entries().filter(({ type }) => type === "context_edit")).toHaveLength(edits);
  expect((await controller.fitBeforeSending()).status).toBe("skipped");
});

test("a context that is too large again after an overflow recovery is not compacted a second time", async () => {
  const { session } = history(LONG);
  const { controller } = controllerFor({ session });
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
  history("U:30000 A:30000 U:10000 A:10000", session);
  const entries = session.entries().length;
  expect((await controller.fitBeforeSending()).status).toBe("failed");
  expect(session.entries()).toHaveLength(entries);
  controller.answerArrived();
  expect((await controller.fitBeforeSending()).status).toBe("compacted");
});

test("a user message allows another try by threshold, also when no answer came", async () => {
  const { controller, check, grow } = controllerFor();
  expect((await check()).status).toBe("compacted");
  grow();
  expect((await check()).status).toBe("skipped");
  controller.userMessageArrived();
  expect((await check()).status).toBe("compacted");
});

test("a good answer allows another recovery within the same message", async () => {
  const { controller, grow } = controllerFor();
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
  grow();
  expect((await controller.recoverFromOverflow()).status).toBe("failed");
  controller.answerArrived();
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
});

test("after a failure in one task, the next task may try again", async () => {
  const { controller, warnings, check } = controllerFor({ summariser: scriptedSummariser([broken]) });
  expect((await check()).status).toBe("failed");
  controller.answerArrived();
  expect((await check()).detail).toBe("A compaction already failed during this task.");
  controller.userMessageArrived();
  expect((await check()).status).toBe("compacted");
  expect(warnings).toEqual(["compaction_failed"]);
});

test("two failures do not pause it, and a success in between starts the count anew", async () => {
  const summariser = scriptedSummariser();
  const works = summariser.summarise.bind(summariser);
  const { controller, check, grow } = controllerFor({ summariser });
  const seen: string[] = [];
  for (const down of [true, true, false, true, true, false]) {
    controller.userMessageArrived();
    // Enough requests that the compactions are not too close to each other.
    for (let request = 0; request < 4; request++) controller.answerArrived();
    summariser.summarise = down ? async () => ({ text: "", stopReason: "stop" }) : works;
    const { status } = await check();
    seen.push(status);
    if (status === "compacted") grow();
  }
  expect(seen).toEqual(["failed", "failed", "compacted", "failed", "failed", "compacted"]);
});

test("failed manual compactions do not pause the automatic ones", async () => {
  const { controller, check } = controllerFor({ summariser: scriptedSummariser([broken, broken, broken]) });
  for (let time = 0; time < 3; time++) expect((await controller.compact()).status).toBe("failed");
  expect((await check()).status).toBe("compacted");
});

test("a pause is warned of once, and a manual compaction ends it", async () => {
  const { controller, warnings, check, grow } = controllerFor({
    summariser: scriptedSummariser([broken, broken, broken]),
  });
  for (let task = 0; task < 6; task++) {
    controller.userMessageArrived();
    await check();
  }
  expect(warnings.filter((code) => code === "compaction_paused")).toHaveLength(1);
  expect((await controller.compact()).status).toBe("compacted");
  grow();
  controller.userMessageArrived();
  expect((await check()).status).toBe("compacted");
});

test.each([
  [3, "did not keep the context small"],
  [4, undefined],
])("three compactions with %i answers from the first to now: %s", async (answers, pause) => {
  const { controller, check, grow } = controllerFor();
  for (let time = 0; time < 3; time++) {
    expect((await check()).status).toBe("compacted");
    grow();
    if (time < 2) controller.answerArrived();
  }
  for (let rest = 2; rest < answers; rest++) controller.answerArrived();
  const { status, detail } = await check();
  if (pause === undefined) expect(status).toBe("compacted");
  else expect(detail).toContain(pause);
});

test("a pause after failures does not keep an overflow from being recovered from", async () => {
  const { controller, check } = controllerFor({ summariser: scriptedSummariser([broken, broken, broken]) });
  for (let task = 0; task < 4; task++) {
    controller.userMessageArrived();
    await check();
  }
  controller.userMessageArrived();
  expect((await check()).detail).toContain("3 compactions in a row failed");
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
});

test("a context that fills up at once does not keep an overflow from being recovered from", async () => {
  const { controller, check, grow } = controllerFor();
  for (let time = 0; time < 3; time++) {
    expect((await check()).status).toBe("compacted");
    grow();
    controller.answerArrived();
  }
  expect((await check()).detail).toContain("did not keep the context small");
  for (let time = 0; time < 4; time++) {
    expect((await controller.recoverFromOverflow()).status).toBe("compacted");
    controller.answerArrived();
    grow();
  }
});

test("another model ends a pause", async () => {
  const { controller, check } = controllerFor({ summariser: scriptedSummariser([broken, broken, broken]) });
  for (let task = 0; task < 4; task++) {
    controller.userMessageArrived();
    await check();
  }
  controller.modelChanged();
  controller.userMessageArrived();
  expect((await check()).status).toBe("compacted");
});

test("a cancelled compaction is not tried again in the same task, but in the next", async () => {
  const cancel = new AbortController();
  const { controller, check, warnings } = controllerFor({
    summariser: scriptedSummariser([
      () => {
        cancel.abort();
        return {};
      },
    ]),
  });
  const cancelled = await controller.checkThreshold({ site: "betweenTools", signal: cancel.signal });
  expect(cancelled.status).toBe("cancelled");
  controller.answerArrived();
  expect((await check()).detail).toBe("You cancelled a compaction during this task.");
  controller.userMessageArrived();
  expect((await check()).status).toBe("compacted");
  expect(warnings).toEqual([]);
});

test("a context that compactions did not keep down stays paused, however many requests follow", async () => {
  const { controller, check, grow, warnings } = controllerFor();
  for (let time = 0; time < 3; time++) {
    expect((await check()).status).toBe("compacted");
    grow();
    controller.answerArrived();
  }
  for (let request = 0; request < 12; request++) {
    expect((await check()).detail).toContain("did not keep the context small");
    controller.answerArrived();
  }
  expect(warnings).toEqual(["compaction_paused"]);
});
