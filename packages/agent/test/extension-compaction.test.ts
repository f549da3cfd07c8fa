import { expect, test } from "vitest";
import { own, stage, told } from "./extension-stage.ts";
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
