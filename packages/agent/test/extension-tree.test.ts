import { expect, test } from "vitest";
import { type Stage, stage, told } from "./extension-stage.ts";
import { sentText } from "./scripted-agent.ts";

const usage = {
  input: 90,
  output: 10,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 100,
  cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 },
};

/** Three turns; the answer of the first is where to go. */
async function forked() {
  const run = await stage({ sizes: [100, 200, 300] });
  const [, target] = run.session.path().filter(({ type }) => type === "message");
  return { ...run, targetId: target!.id, oldLeafId: run.session.leafId! };
}

const unchanged = (run: Stage & { oldLeafId: string }, before: string) => {
  expect(run.bytes()).toBe(before);
  expect(run.session.leafId).toBe(run.oldLeafId);
  expect(run.reopened().leafId).toBe(run.oldLeafId);
  expect(run.agent.isBusy).toBe(false);
};

test("the event contains every field of the branch to leave and is read-only", async () => {
  const run = await forked();
  const path = run.session.path();
  const entriesToSummarize = path.slice(path.findIndex(({ id }) => id === run.targetId) + 1);
  const events = told(run, "session_before_tree");
  const options = { summarise: true, focus: "the tests", replaceInstructions: true, label: "tried" };
  await run.agent.navigate(run.targetId, options);
  const [{ signal, ...event }] = events as [Record<string, unknown>];
  expect(event).toEqual({
    type: "session_before_tree",
    current: undefined,
    preparation: {
      targetId: run.targetId,
      oldLeafId: run.oldLeafId,
      commonAncestorId: run.targetId,
      entriesToSummarize,
      userWantsSummary: true,
      customInstructions: "the tests",
      replaceInstructions: true,
      label: "tried",
    },
  });
  expect(signal).toBeInstanceOf(AbortSignal);
  expect(Object.isFrozen(event.preparation)).toBe(true);
});

test("without wishes the payload has none", async () => {
  const run = await forked();
  const events = told(run, "session_before_tree");
  const moved = told(run, "session_tree");
  await run.agent.navigate(run.targetId);
  expect(Object.keys(events[0]!.preparation as object)).toEqual([
    ...["targetId", "oldLeafId", "commonAncestorId", "entriesToSummarize", "userWantsSummary"],
  ]);
  const { leafId: newLeafId } = run.session;
  expect(moved).toEqual([{ type: "session_tree", newLeafId, oldLeafId: run.oldLeafId }]);
});

test("a summary with details and usage is stored as it is under the new place, and the event has its entry", async () => {
  const run = await forked();
  const moved = told(run, "session_tree");
  const summary = { summary: "Tried it.", details: { log: ["a"] }, usage };
  run.lifecycle.on("session_before_tree", () => ({ summary, label: "dead end" }));
  const { summaryEntry } = await run.agent.navigate(run.targetId, { summarise: true, label: "mine" });
  expect(summaryEntry).toMatchObject({
    type: "branch_summary",
    ...summary,
    fromId: run.oldLeafId,
    fromHook: true,
  });
  expect(run.session.label(summaryEntry!.id)).toBe("dead end");
  expect(moved).toEqual([
    {
      type: "session_tree",
      newLeafId: run.session.leafId,
      oldLeafId: run.oldLeafId,
      summaryEntry,
      fromExtension: true,
    },
  ]);
  expect(run.summaries).toEqual([]);
  expect(run.session.projection().items.at(-1)!.message).toMatchObject({
    role: "branchSummary",
    summary: "Tried it.",
  });
});

test("instructions of an extension are added to the user's wish, or take the place of all", async () => {
  for (const replaceInstructions of [false, true]) {
    const run = await forked();
    const moved = told(run, "session_tree");
    run.lifecycle.on("session_before_tree", () => ({
      customInstructions: "As a poem.",
      replaceInstructions,
    }));
    await run.agent.navigate(run.targetId, { summarise: true, focus: "the tests" });
    const asked = sentText(run.summaries[0]!);
    expect(asked).toContain("As a poem.");
    expect(asked).not.toContain("the tests");
    expect(asked.includes("## Goal")).toBe(!replaceInstructions);
    expect(moved).toMatchObject([{ fromExtension: false, summaryEntry: { type: "branch_summary" } }]);
  }
});

test("the user's own instructions may take the place of all, and the user's label is put on the summary or the target", async () => {
  const run = await forked();
  const { summaryEntry } = await run.agent.navigate(run.targetId, {
    summarise: true,
    focus: "As a poem.",
    replaceInstructions: true,
    label: "tried",
  });
  expect(sentText(run.summaries[0]!)).not.toContain("## Goal");
  expect(run.session.label(summaryEntry!.id)).toBe("tried");

  const plain = await forked();
  await plain.agent.navigate(plain.targetId, { label: "back here" });
  expect(plain.session.label(plain.targetId)).toBe("back here");
});

test.each([
  ["says no", () => ({ cancel: true })],
  ["fails closed", () => Promise.reject(new Error("cannot ask"))],
] as const)(
  "a navigation that an extension %s to changes nothing, and the agent is idle",
  async (_what, handler) => {
    const run = await forked();
    const before = run.bytes();
    const moved = told(run, "session_tree");
    run.lifecycle.on("session_before_tree", handler, { onError: "cancel" });
    const later = told(run, "session_before_tree");
    expect(await run.agent.navigate(run.targetId, { summarise: true })).toEqual({
      status: "cancelled",
      leafId: run.oldLeafId,
      previousLeafId: run.oldLeafId,
    });
    expect([moved, later]).toEqual([[], []]);
    unchanged(run, before);
    expect((await run.agent.prompt("here then")).status).toBe("done");
  },
);

test("one who throws is named, and the move goes on", async () => {
  const run = await forked();
  const error = new Error("lost");
  run.lifecycle.on("session_before_tree", () => Promise.reject(error), { source: "guide" });
  expect((await run.agent.navigate(run.targetId)).status).toBe("moved");
  expect(run.handlerNotices).toEqual([
    { type: "handler_error", event: "session_before_tree", source: "guide", error },
  ]);
});

test("the later of two summaries counts; a notice names both extensions, and {} changes nothing", async () => {
  const run = await forked();
  for (const source of ["one", "two"])
    run.lifecycle.on("session_before_tree", () => ({ summary: { summary: `Of ${source}.` } }), { source });
  run.lifecycle.on(
    "session_before_tree",
    ({ current }) => {
      expect(current).toEqual({ summary: { summary: "Of two." } });
      return {};
    },
    { source: "three" },
  );
  const { summaryEntry } = await run.agent.navigate(run.targetId, { summarise: true });
  expect(summaryEntry?.summary).toBe("Of two.");
  expect(run.handlerNotices).toEqual([
    { type: "conflict", event: "session_before_tree", field: "summary", sources: ["one", "two"] },
  ]);
});

test("one who hangs is named after 30 s, and an abort leaves everything as it was", async () => {
  const run = await forked();
  const before = run.bytes();
  const hung = Promise.withResolvers<AbortSignal>();
  run.lifecycle.on(
    "session_before_tree",
    ({ signal }) => {
      hung.resolve(signal);
      return new Promise<never>(() => {});
    },
    { source: "sleeper" },
  );
  const moving = run.agent.navigate(run.targetId);
  const signal = await hung.promise;
  run.timer.fire();
  expect(run.handlerNotices).toEqual([
    { type: "slow_handler", event: "session_before_tree", source: "sleeper", elapsedMs: 30_000 },
  ]);
  void run.agent.abort();
  expect((await moving).status).toBe("cancelled");
  expect(signal.aborted).toBe(true);
  unchanged(run, before);
});

test("an empty summary is refused, and nothing moves", async () => {
  const run = await forked();
  const before = run.bytes();
  run.lifecycle.on("session_before_tree", () => ({ summary: { summary: " " } }));
  const moving = run.agent.navigate(run.targetId, { summarise: true });
  await expect(moving).rejects.toMatchObject({ code: "extension_summary_empty" });
  unchanged(run, before);
});
