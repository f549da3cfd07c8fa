import type { CustomCompaction } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { type Stage, stage, told } from "./extension-stage.ts";
import { calls, done, echo, filler, overflow, sentText } from "./scripted-agent.ts";

const usage = {
  input: 90,
  output: 10,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 100,
  cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 },
};

/** Room for several compactions before a threshold is near. */
const small = { sizes: [2_000, 3_000], settings: { compaction: { keepRecentTokens: 2_000 } } };

/** A summary of an extension's own, kept from the plan's place. */
function own(run: Stage, source: string, more: Partial<CustomCompaction> = {}) {
  run.lifecycle.on(
    "session_before_compact",
    ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
      compaction: { summary: `Summary of ${source}.`, firstKeptEntryId, tokensBefore, ...more },
    }),
    { source },
  );
}

test("the event contains every field of the planned compaction and is read-only", async () => {
  const run = await stage();
  const { tokens } = run.agent.state.context;
  const path = run.session.path();
  const events = told(run, "session_before_compact");
  await run.agent.compact({ focus: "the tests" });
  const [firstUser, firstAnswer, secondUser] = run.session.path().filter(({ type }) => type === "message");
  const [{ signal, ...event }] = events as [Record<string, unknown>];
  expect(event).toEqual({
    type: "session_before_compact",
    reason: "manual",
    willRetry: false,
    customInstructions: "the tests",
    branchEntries: path,
    current: undefined,
    preparation: {
      firstKeptEntryId: secondUser!.id,
      messagesToSummarize: [firstUser, firstAnswer].map((entry) => "message" in entry! && entry.message),
      turnPrefixMessages: [],
      isSplitTurn: false,
      tokensBefore: tokens,
      fileOps: { read: [], modified: [] },
      userWords: [expect.objectContaining({ turn: 1, entryId: firstUser!.id })],
      terms: [],
      settings: expect.objectContaining({ enabled: true, reserveTokens: 5_000, keepRecentTokens: 7_000 }),
    },
  });
  expect(signal).toBeInstanceOf(AbortSignal);
  expect(Object.isFrozen(event.preparation)).toBe(true);
  expect(Object.isFrozen((event.preparation as { messagesToSummarize: object }).messagesToSummarize)).toBe(
    true,
  );
});

test("the event has the summary that is updated and the files that were touched", async () => {
  const edits = { calls: [{ name: "edit", arguments: { path: "a.ts", oldText: "a", newText: "b" } }] };
  const reads = { calls: [{ name: "read", arguments: { path: "b.ts" } }] };
  const tools = ["edit", "read"].map((name) => ({ ...echo, name }));
  const run = await stage({ ...small, tools, turn: [edits, reads, done, done] });
  await run.agent.compact();
  await run.agent.prompt("go");
  await run.agent.prompt(filler(3_000));
  const events = told(run, "session_before_compact");
  await run.agent.compact();
  expect(events[0]!.preparation).toMatchObject({
    previousSummary: expect.stringContaining("## Goal"),
    fileOps: { read: ["b.ts"], modified: ["a.ts"] },
  });
  expect(JSON.stringify(events[0]!.preparation)).not.toContain("[Record of");
});

test("in a split turn its early part is a field of its own, and a summary may stand for both", async () => {
  const run = await stage({
    sizes: [100],
    turn: [calls({ tokens: 3_000 }), calls({ tokens: 3_000 }), calls({ tokens: 6_000 }), done],
  });
  await run.agent.prompt("the long task");
  const events = told(run, "session_before_compact");
  own(run, "one");
  expect((await run.agent.compact()).status).toBe("compacted");
  const { preparation } = events[0] as {
    preparation: { [field: string]: readonly { role: string; content: unknown }[] };
  };
  expect(preparation).toMatchObject({ isSplitTurn: true });
  expect(preparation.messagesToSummarize!.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(preparation.turnPrefixMessages![0]).toMatchObject({ role: "user", content: "the long task" });
  const { items, compaction } = run.session.projection();
  expect(compaction).toMatchObject({ summary: "Summary of one.", fromHook: true });
  expect(items[1]!.message.role).toBe("assistant");
  expect((await run.agent.prompt("go on")).status).toBe("done");
});

test("a summary with its own first kept entry, details and usage is stored as it is, and the event has its entry", async () => {
  const run = await stage();
  const firstKeptEntryId = run.ids()[1]!;
  const compacted = told(run, "session_compact");
  const ended = told(run, "auto_compaction_end");
  own(run, "one", { firstKeptEntryId, details: { notes: ["kept"] }, usage });
  expect((await run.agent.compact()).status).toBe("compacted");
  const compactionEntry = run.session.entries().findLast(({ type }) => type === "compaction");
  expect(compactionEntry).toMatchObject({
    summary: "Summary of one.",
    firstKeptEntryId,
    details: { notes: ["kept"] },
    usage,
    fromHook: true,
  });
  const common = { reason: "manual", willRetry: false };
  expect(compacted).toEqual([{ type: "session_compact", compactionEntry, fromExtension: true, ...common }]);
  expect(ended).toEqual([
    {
      type: "auto_compaction_end",
      result: compactionEntry,
      aborted: false,
      ...common,
      outcome: expect.objectContaining({ status: "compacted" }),
    },
  ]);
  expect(run.summaries).toEqual([]);
  expect(run.ids().slice(1)).toEqual(
    run
      .reopened()
      .projection()
      .items.slice(1)
      .map(({ entryId }) => entryId),
  );
  expect(run.ids()[1]).toBe(firstKeptEntryId);
});

test("the model sees only a summary without kept entries", async () => {
  const run = await stage();
  own(run, "one", { firstKeptEntryId: null });
  expect((await run.agent.compact()).status).toBe("compacted");
  expect(run.session.projection().items.map(({ message }) => message.role)).toEqual(["compactionSummary"]);
  expect((await run.agent.prompt("and now?")).status).toBe("done");
});

test("the event marks a summary of our own as such", async () => {
  const run = await stage();
  const compacted = told(run, "session_compact");
  await run.agent.compact();
  expect(compacted).toMatchObject([{ fromExtension: false, compactionEntry: { type: "compaction" } }]);
});

test("two summaries in a row with the same text are two entries, each with an event of its own", async () => {
  const run = await stage(small);
  const compacted = told(run, "session_compact") as { compactionEntry: { id: string; parentId: string } }[];
  run.lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
    compaction: { summary: "The same.", firstKeptEntryId, tokensBefore },
  }));
  for (let time = 0; time < 2; time++) {
    expect((await run.agent.compact()).status).toBe("compacted");
    await run.agent.prompt(filler(3_000));
  }
  const entries = run.session.entries().filter(({ type }) => type === "compaction");
  expect(entries).toHaveLength(2);
  expect(compacted.map(({ compactionEntry }) => compactionEntry)).toEqual(entries);
  expect(run.session.projection().compaction?.id).toBe(entries[1]!.id);
});

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

test("the later of two disagreeing extensions counts; a notice names both, and {} changes nothing", async () => {
  const run = await stage();
  const currents: unknown[] = [];
  const abstains = (source: string) =>
    run.lifecycle.on(
      "session_before_compact",
      ({ current }) => {
        currents.push(current?.compaction?.summary);
        return {};
      },
      { source },
    );
  own(run, "one");
  abstains("between");
  own(run, "two");
  abstains("behind");
  await run.agent.compact();
  expect(run.session.projection().compaction?.summary).toBe("Summary of two.");
  expect(currents).toEqual(["Summary of one.", "Summary of two."]);
  expect(run.handlerNotices).toEqual([
    { type: "conflict", event: "session_before_compact", field: "compaction", sources: ["one", "two"] },
  ]);
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
  ["threshold", false, [calls({ tokens: 4_500 }), done]],
  ["overflow", true, [overflow, done]],
] as const)("by %s each event has the reason, and willRetry is %s", async (reason, willRetry, turn) => {
  const run = await stage({ turn, settings: { compaction: { background: false } } });
  const names = ["session_before_compact", "session_compact", "auto_compaction_end"] as const;
  const events = names.map((name) => told(run, name));
  const started = told(run, "auto_compaction_start");
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(started).toEqual([{ type: "auto_compaction_start", reason }]);
  for (const payloads of events) expect(payloads).toMatchObject([{ reason, willRetry }]);
  expect(sentText(run.turns.at(-1)!)).toContain("## Goal");
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
