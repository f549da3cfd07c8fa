import { expect, test } from "vitest";
import { own, type Stage, stage, told } from "./extension-stage.ts";
import { calls, done, overflow } from "./scripted-agent.ts";

test("a cancel is kept with its reason, skips who comes later, and leaves the file as it was", async () => {
  const run = await stage();
  const before = run.bytes();
  run.lifecycle.on("session_before_compact", () => ({ cancel: true, reason: "Not on Sundays." }));
  const later = told(run, "session_before_compact");
  const failed = told(run, "session_compact_failed");
  const ended = told(run, "auto_compaction_end");
  const outcome = await run.agent.compact();
  expect(outcome).toMatchObject({ status: "cancelled", detail: "Compaction cancelled. Not on Sundays." });
  expect(later).toEqual([]);
  const common = { reason: "manual", outcome, aborted: true, willRetry: false };
  expect(failed).toEqual([{ type: "session_compact_failed", fromExtension: false, ...common }]);
  expect(ended).toEqual([{ type: "auto_compaction_end", ...common }]);
  expect(run.bytes()).toBe(before);
  expect(run.agent.isBusy).toBe(false);
});

test("one who throws is named with the cause, and the default summary is made", async () => {
  const run = await stage();
  const error = new Error("cannot count");
  run.lifecycle.on("session_before_compact", () => Promise.reject(error), { source: "counter" });
  expect((await run.agent.compact()).status).toBe("compacted");
  expect(run.session.projection().compaction?.fromHook).toBeUndefined();
  expect(run.handlerNotices).toEqual([
    { type: "handler_error", event: "session_before_compact", source: "counter", error },
  ]);
});

test("one who throws and was registered to fail closed cancels", async () => {
  const run = await stage();
  const before = run.bytes();
  run.lifecycle.on("session_before_compact", () => Promise.reject(new Error("cannot ask")), {
    onError: "cancel",
  });
  expect(await run.agent.compact()).toMatchObject({
    status: "cancelled",
    detail: "Compaction cancelled. cannot ask",
  });
  expect(run.bytes()).toBe(before);
});

test.each(["abort", "cancelCompaction"] as const)(
  "one who hangs is named after 30 s, and %s gets out",
  async (way) => {
    const run = await stage();
    const before = run.bytes();
    const hung = Promise.withResolvers<AbortSignal>();
    run.lifecycle.on(
      "session_before_compact",
      ({ signal }) => {
        hung.resolve(signal);
        return new Promise<never>(() => {});
      },
      { source: "sleeper" },
    );
    const compacting = run.agent.compact();
    const signal = await hung.promise;
    expect(run.timer.delaysMs()).toEqual([30_000]);
    run.timer.fire();
    expect(run.handlerNotices).toEqual([
      { type: "slow_handler", event: "session_before_compact", source: "sleeper", elapsedMs: 30_000 },
    ]);
    void run.agent[way]();
    expect((await compacting).status).toBe("cancelled");
    expect(signal.aborted).toBe(true);
    expect(run.bytes()).toBe(before);
    expect(run.agent.isBusy).toBe(false);
  },
);

test("after an abort during a handler its summary is not taken", async () => {
  const run = await stage();
  const before = run.bytes();
  run.lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => {
    run.agent.cancelCompaction();
    return { compaction: { summary: "Too late.", firstKeptEntryId, tokensBefore } };
  });
  const failed = told(run, "session_compact_failed");
  expect((await run.agent.compact()).status).toBe("cancelled");
  expect(failed).toMatchObject([{ aborted: true, fromExtension: false }]);
  expect(run.bytes()).toBe(before);
});

const wrongSummaries = [
  ["first_kept_entry_unknown", () => ({ firstKeptEntryId: "nowhere" })],
  ["first_kept_entry_unknown", () => ({ firstKeptEntryId: undefined as never })],
  ["extension_summary_empty", () => ({ summary: " \n" })],
  ["extension_summary_empty", () => ({ summary: 7 as never })],
  ["first_kept_entry_illegal", (run: Stage) => ({ firstKeptEntryId: run.ids()[6]! })],
] as const;

test("an unusable summary is refused, the file stays, and the session goes on", async () => {
  for (const [code, wrong] of wrongSummaries) {
    const run = await stage({ turn: [calls(), done] });
    await run.agent.prompt("go");
    const before = run.bytes();
    const failed = told(run, "session_compact_failed");
    const ended = told(run, "auto_compaction_end");
    own(run, "one", wrong(run));
    const outcome = await run.agent.compact();
    expect.soft(outcome.status, code).toBe("failed");
    const common = {
      reason: "manual",
      outcome,
      aborted: false,
      willRetry: false,
      errorMessage: outcome.detail,
    };
    expect.soft(failed, code).toEqual([
      {
        type: "session_compact_failed",
        error: expect.objectContaining({ code }),
        fromExtension: true,
        ...common,
      },
    ]);
    expect.soft(ended, code).toEqual([{ type: "auto_compaction_end", ...common }]);
    expect.soft(run.bytes(), code).toBe(before);
    expect.soft((await run.agent.prompt("and now?")).status, code).toBe("done");
  }
});

test.each([
  ["threshold", "done", false, [calls({ tokens: 4_500 }), done]],
  ["overflow", "failed", true, [overflow, overflow]],
] as const)(
  "a summary that fails by %s: the run is %s, and willRetry was %s",
  async (reason, status, willRetry, turn) => {
    const run = await stage({ turn });
    const failed = told(run, "session_compact_failed");
    own(run, "one", { summary: "" });
    expect((await run.agent.prompt("go")).status).toBe(status);
    expect(failed).toMatchObject([
      { reason, willRetry, aborted: false, fromExtension: true, error: { code: "extension_summary_empty" } },
    ]);
  },
);
