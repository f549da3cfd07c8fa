import { Lifecycle, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import { emptyUsage } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  type BeforeCompact,
  type CompactionEvents,
  compactionEventRules,
  compactionSettings,
  digestSummariser,
  type RunCompactionOptions,
  runCompaction,
  type SummarisePreparationOptions,
  type Summariser,
  summarisePreparation,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200, estimator: "chars4" });
const model = { contextWindow: 60_000 };

type Asked = Omit<SummarisePreparationOptions, "preparation" | "summariser">;

interface Stage extends Partial<RunCompactionOptions> {
  notation: string;
  /** Null: the default, without extensions. */
  extension: Summariser | null;
  asked?: Asked;
  carryOver?: Record<string, string[]>;
}

/** Compacts a session, by an extension that has the default summary made, or without one. */
async function compacted({ notation, extension, asked = {}, carryOver, ...options }: Stage) {
  const { session } = history(notation);
  const notices: LifecycleNotice[] = [];
  const lifecycle = new Lifecycle<CompactionEvents>({
    rules: compactionEventRules,
    onNotice: (notice) => notices.push(notice),
  });
  const errors: unknown[] = [];
  lifecycle.on("session_before_compact", async ({ preparation, signal }: BeforeCompact) => {
    const carried = carryOver === undefined ? {} : { carryOver };
    if (extension === null) return carried;
    try {
      const made = await summarisePreparation({ preparation, summariser: extension, signal, ...asked });
      return { ...made, ...carried };
    } catch (error) {
      errors.push(error);
      return {};
    }
  });
  const run = () => runCompaction({ session, settings, model, reason: "threshold", lifecycle, ...options });
  const result = await run();
  return { session, result, run, errors, notices, text: messagesOf(session) };
}

/** What the model sees, without what differs between two equal sessions. */
function messagesOf(session: ReturnType<typeof history>["session"]) {
  return session.projection().items.map(({ message }) => ({ ...message, timestamp: 0 }));
}

function detailsOf({ details }: CompactionEntry): Record<string, unknown> {
  const { manifest: _manifest, ...rest } = details as Record<string, unknown>;
  const { latestRequest, ...others } = rest;
  return { ...others, latestRequest: (latestRequest as { text: string } | undefined)?.text };
}

const past = "U:30000 A(t1=edit:a.ts t2=read:b.ts):30000 T1:9 T2:9 A:9 | U:100 A:100";
const cases: readonly [string, string][] = [
  ["a whole turn", past],
  ["a split turn", "U:9000 A:9000 | U:900 A(t1=edit:a.ts):40000 T1:9000 A:150 A:150"],
  ["an earlier summary", `U:900 A:900 C()"## Goal old" ${past}`],
  ["a branch summary", `U:900 A:900 S:90 ${past}`],
];

test.each(cases)(
  "an extension's summary by the same summariser is the default's: %s",
  async (_name, notation) => {
    const usual = await compacted({ notation, extension: null, summariser: scriptedSummariser() });
    const own = await compacted({ notation, extension: scriptedSummariser() });
    expect(usual.result.status).toBe("compacted");
    expect(own.errors).toEqual([]);
    expect(own.text).toEqual(usual.text);
    expect(own.result.tokensAfter).toBe(usual.result.tokensAfter);
    expect(own.result.rung).toBe("extension");
    expect(own.result.entry).toMatchObject({ fromHook: true, usage: usual.result.entry!.usage });
    expect(detailsOf(own.result.entry!)).toEqual(detailsOf(usual.result.entry!));
    expect(own.result.readFiles).toEqual(usual.result.readFiles);
    expect(own.result.modifiedFiles).toEqual(usual.result.modifiedFiles);
  },
);

test.each(cases)("the digest, chosen by an extension, is the default's: %s", async (_name, notation) => {
  const usual = await compacted({ notation, extension: null });
  const own = await compacted({ notation, extension: digestSummariser(), summariser: scriptedSummariser() });
  expect(usual.result.rung).toBe("digest");
  expect(own.errors).toEqual([]);
  expect(own.text).toEqual(usual.text);
});

test("a conversation too long for the summariser is summarised in chunks", async () => {
  const small = { contextWindow: 20_000, maxOutputTokens: 2_000 };
  const notation = "U:9000 A:9000 | U:9000 A:9000 | U:9000 A:9000 | U:100 A:100";
  const usual = await compacted({ notation, extension: null, summariser: scriptedSummariser([], small) });
  const summariser = scriptedSummariser([], small);
  const own = await compacted({ notation, extension: summariser });
  expect(summariser.requests.length).toBeGreaterThan(2);
  expect(own.text).toEqual(usual.text);
});

test("what another extension carries over stands where it would without an extension's summary", async () => {
  const carryOver = { "to-do": ["[ ] mend the door"] };
  const usual = await compacted({
    notation: past,
    extension: null,
    summariser: scriptedSummariser(),
    carryOver,
  });
  const own = await compacted({ notation: past, extension: scriptedSummariser(), carryOver });
  expect(JSON.stringify(own.text)).toContain("mend the door");
  expect(own.text).toEqual(usual.text);
});

test("the next compaction goes on from such a summary as from the default: files, pins, prose", async () => {
  const again = async (extension: Summariser | null) => {
    const summariser = scriptedSummariser();
    const pinned = ["Never push."];
    const first = await compacted({ notation: past, extension, summariser, pinned });
    history("U:30000 A(t9=edit:z.ts):20000 T9:9 | U:90 A:100", first.session);
    const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
    await runCompaction({
      session: first.session,
      settings,
      model,
      summariser,
      reason: "threshold",
      lifecycle,
    });
    return { text: messagesOf(first.session), previous: summariser.requests.at(-1)?.previousSummary };
  };
  const usual = await again(null);
  expect(JSON.stringify(usual.text)).toContain("Never push.");
  expect(await again(scriptedSummariser())).toEqual(usual);
});

test("on any tree, for any reason, an extension's summary by the same summariser is the default's", async () => {
  const reasons = fc.constantFrom("manual" as const, "threshold" as const, "overflow" as const);
  let compactions = 0;
  const law = fc.asyncProperty(
    treeArbitrary({ maxTokens: 400 }),
    reasons,
    fc.boolean(),
    async (notation, reason, isDigest) => {
      const small = { notation, reason, model: { contextWindow: 4_000 } };
      const usual = await compacted({
        ...small,
        extension: null,
        ...(isDigest ? {} : { summariser: scriptedSummariser() }),
      });
      const own = await compacted({
        ...small,
        extension: isDigest ? digestSummariser() : scriptedSummariser(),
        summariser: scriptedSummariser([new Error("not asked")]),
      });
      if (usual.result.status !== "compacted" || usual.result.failures.length > 0) return;
      compactions += 1;
      expect(own.errors).toEqual([]);
      expect(own.text).toEqual(usual.text);
    },
  );
  await fc.assert(law, { numRuns: 40 });
  expect(compactions).toBeGreaterThan(5);
});

test("a failing summariser throws with its causes, and the default summary takes over", async () => {
  const summariser = scriptedSummariser();
  const own = await compacted({
    notation: past,
    extension: scriptedSummariser([new Error("no key")]),
    summariser,
  });
  expect(own.errors).toMatchObject([{ code: "summary_failed", message: expect.stringContaining("no key") }]);
  expect(own.result).toMatchObject({ status: "compacted", rung: "summarise" });
});

test("an answer without sections is none; with instructions of one's own none are expected", async () => {
  const log = scriptedSummariser([{ text: "Day one: nothing." }]);
  const strict = await compacted({ notation: past, extension: log, summariser: scriptedSummariser() });
  expect(strict.errors).toMatchObject([{ code: "summary_failed" }]);
  const free = scriptedSummariser([{ text: "Day one: nothing." }]);
  const asked = { customInstructions: "Write a diary.", replaceInstructions: true };
  const own = await compacted({ notation: past, extension: free, asked });
  expect(own.errors).toEqual([]);
  expect(free.requests[0]?.prompt.user).toContain("Write a diary.");
  expect(free.requests[0]?.prompt.user).not.toContain("Use exactly these headings");
  expect(free.requests[0]).not.toHaveProperty("instruction");
  expect(own.result.summary).toContain("Day one: nothing.");
});

test("without instructions of its own, the user's focus holds; else the extension's", async () => {
  const first = scriptedSummariser();
  await compacted({ notation: past, extension: first, focus: "the door" });
  expect(first.requests[0]?.focus).toBe("the door");
  const second = scriptedSummariser();
  await compacted({
    notation: past,
    extension: second,
    focus: "the door",
    asked: { customInstructions: "the roof" },
  });
  expect(second.requests[0]?.focus).toBe("the roof");
});

test("keepNothing summarises what would be kept too, and the engine takes a cut that keeps nothing", async () => {
  const summariser = scriptedSummariser();
  const own = await compacted({ notation: past, extension: summariser, asked: { keepNothing: true } });
  expect(own.errors).toEqual([]);
  expect(own.text.map(({ role }) => role)).toEqual(["compactionSummary"]);
  expect(own.result).toMatchObject({ status: "compacted", firstKeptEntryId: null, keptEntryIds: [] });
  expect(own.result.summarizedEntryIds).toHaveLength(7);
  expect(summariser.requests[0]?.messages).toHaveLength(7);
  // Nothing more to do, and what comes after is seen.
  expect((await own.run()).status).toBe("nothing-to-compact");
  history("U:10", own.session);
  expect(messagesOf(own.session).map(({ role }) => role)).toEqual(["compactionSummary", "user"]);
});

test("a changed text is kept as changed, with what was carried over for the next time", async () => {
  const { session } = history(past);
  const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
  lifecycle.on("session_before_compact", async ({ preparation }) => {
    const { compaction } = await summarisePreparation({ preparation, summariser: scriptedSummariser() });
    return { compaction: { ...compaction, summary: `${compaction.summary}\n\nAnd more.` } };
  });
  const result = await runCompaction({ session, settings, model, reason: "threshold", lifecycle });
  expect(result.summary).toMatch(/And more\.$/);
  expect(result.entry?.details).toMatchObject({
    prose: expect.stringContaining("And more."),
    modifiedFiles: expect.arrayContaining(["a.ts"]),
  });
});

test("an abort ends it with the signal's reason, whether the summariser heeds it or not", async () => {
  const stop = new AbortController();
  const deaf: Summariser = {
    name: "deaf",
    summarise: () => {
      stop.abort(new Error("enough"));
      return new Promise(() => {});
    },
  };
  const own = await compacted({
    notation: past,
    extension: deaf,
    asked: { signal: stop.signal },
    summariser: scriptedSummariser(),
  });
  expect(own.errors).toMatchObject([{ message: "enough" }]);
  expect(own.result.status).toBe("compacted");
});

test("a preparation of one's own making is refused", async () => {
  const preparation = {
    firstKeptEntryId: null,
    messagesToSummarize: [],
    turnPrefixMessages: [],
    isSplitTurn: false,
    tokensBefore: 0,
    fileOps: { read: [], modified: [] },
    settings,
  } as unknown as BeforeCompact["preparation"];
  const made = summarisePreparation({ preparation, summariser: scriptedSummariser() });
  await expect(made).rejects.toMatchObject({ code: "preparation_unknown" });
});

test("all requests are paid for in the entry's usage", async () => {
  const usage = { ...emptyUsage(), input: 7, cost: { ...emptyUsage().cost, total: 0.5 } };
  const small = { contextWindow: 20_000, maxOutputTokens: 2_000 };
  const notation = "U:9000 A:9000 | U:9000 A:9000 | U:9000 A:9000 | U:100 A:100";
  const each = Array.from({ length: 9 }, () => ({ usage }));
  const summariser = scriptedSummariser(each, small);
  const { result } = await compacted({ notation, extension: summariser });
  expect(summariser.requests.length).toBeGreaterThan(2);
  expect(result.entry?.usage?.input).toBe(7 * summariser.requests.length);
  expect(result.costUsd).toBe(0.5 * summariser.requests.length);
});

const unanswered: readonly [about: string, notation: string, kept: string[]][] = [
  ["a prompt that was just typed", "U:30000 A:100 | U:90", ["u2"]],
  [
    "two prompts, a command, a message of an extension",
    "U:30000 A:100 | U:90 B X U:9",
    ["u2", "b1", "x1", "u3"],
  ],
  ["a prompt whose request failed", "U:30000 A:100 | U:90 A~error", ["u2", "a2"]],
  ["what was said after a request failed", "U:30000 A:100 | U:90 A~error U:9", ["u3"]],
  [
    "results, with the answer that asked for them",
    "U:30000 A:100 A(t1 t2):9 T1:90 T2:90",
    ["a2", "t1", "t2"],
  ],
  ["results, and what was said behind them", "U:30000 A(t1):9 T1:90 | U:9", ["a1", "t1", "u2"]],
  ["what was said after results were given up", "U:30000 A(t1):9 T1:90 A~error U:9", ["u2"]],
  ["a branch summary that was taken along", "U:30000 A:100 S:90", ["s1"]],
  ["nothing after an answer", "U:30000 A:100 | U:90 A(t1):9 T1:9 A:9", []],
];

test.each(unanswered)(
  "keepNothing keeps what the model has not answered: %s",
  async (_about, notation, kept) => {
    const { session, name } = history(notation);
    const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
    const summariser = scriptedSummariser();
    lifecycle.on("session_before_compact", ({ preparation }) =>
      summarisePreparation({ preparation, summariser, keepNothing: true }),
    );
    const least = compactionSettings({ keepRecentTokens: 150, estimator: "chars4" });
    const result = await runCompaction({ session, settings: least, model, lifecycle });
    expect(result.status).toBe("compacted");
    expect(result.keptEntryIds.map(name)).toEqual(kept);
    const seen = session.projection().items.slice(1);
    expect(seen.map(({ entryId }) => name(entryId))).toEqual(kept);
  },
);

test("keepNothing gives the early part of the turn that goes on a summary of its own", async () => {
  const summariser = scriptedSummariser();
  const notation = "U:9000 A:9000 | U:90 A(t1):30000 T1:90 A(t2):9 T2:90";
  const own = await compacted({ notation, extension: summariser, asked: { keepNothing: true } });
  expect(summariser.requests.map(({ kind }) => kind)).toEqual(["history", "turnPrefix"]);
  expect(own.text.map(({ role }) => role)).toEqual(["compactionSummary", "assistant", "toolResult"]);
});

test("keepNothing summarises no less than would be summarised without it", async () => {
  const usual = await compacted({ notation: "U:30000 U:30000 U:90", extension: scriptedSummariser() });
  const own = await compacted({
    notation: "U:30000 U:30000 U:90",
    extension: scriptedSummariser(),
    asked: { keepNothing: true },
  });
  expect(usual.result.keptEntryIds).toHaveLength(2);
  expect(own.text.map(({ role }) => role)).toEqual(usual.text.map(({ role }) => role));
});

test("on any tree, keepNothing leaves only what no good answer came after", async () => {
  let compactions = 0;
  const law = fc.asyncProperty(treeArbitrary({ maxTokens: 400 }), async (notation) => {
    const extension = scriptedSummariser();
    // A tree can be smaller than what the summariser always says.
    const asked = { keepNothing: true, mayGrow: true };
    const small = { notation, extension, model: { contextWindow: 4_000 }, asked };
    const { text, result, errors } = await compacted({ ...small, reason: "manual" });
    expect(errors).toEqual([]);
    if (result.status !== "compacted") return;
    compactions += 1;
    const answer = text.findLastIndex(
      (each) => each.role === "assistant" && !["error", "aborted"].includes(each.stopReason),
    );
    if (answer < 0) return;
    expect([answer, text[answer + 1]?.role]).toEqual([1, "toolResult"]);
  });
  await fc.assert(law, { numRuns: 60 });
  expect(compactions).toBeGreaterThan(5);
});

test("without a summariser of its own, whoever would summarise is asked; without a model, the digest", async () => {
  for (const summariser of [scriptedSummariser(), undefined]) {
    const { session } = history(past);
    const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
    lifecycle.on("session_before_compact", ({ preparation }) => summarisePreparation({ preparation }));
    const asked = summariser === undefined ? {} : { summariser };
    const result = await runCompaction({
      session,
      settings,
      model,
      lifecycle,
      reason: "threshold",
      ...asked,
    });
    expect(result).toMatchObject({ status: "compacted", rung: "extension" });
    const usual = await compacted({ notation: past, extension: null, ...asked });
    expect(messagesOf(session)).toEqual(usual.text);
  }
});

test("what a failed attempt cost is counted with the summary that was made in its place", async () => {
  const usage = { ...emptyUsage(), input: 7, cost: { ...emptyUsage().cost, total: 0.5 } };
  const extension = scriptedSummariser([{ text: "No sections.", usage }]);
  const own = await compacted({ notation: past, extension, summariser: scriptedSummariser([{ usage }]) });
  expect(own.errors).toMatchObject([{ code: "summary_failed" }]);
  expect(own.result).toMatchObject({ status: "compacted", requests: 2, costUsd: 1 });
  expect(own.result.entry?.usage?.input).toBe(14);
});

test("mayGrow takes a summary that is no shorter than what it stands for, which else throws", async () => {
  const long = { text: "words ".repeat(9_000) };
  const notation = "U:900 A:900 | U:400 A:100";
  const instructions = { customInstructions: "At length.", replaceInstructions: true };
  const strict = await compacted({
    notation,
    extension: scriptedSummariser([long]),
    asked: instructions,
    reason: "manual",
  });
  expect(strict.errors).toMatchObject([
    { code: "summary_failed", message: expect.stringContaining("shrink") },
  ]);
  const asked = { ...instructions, mayGrow: true };
  const own = await compacted({ notation, extension: scriptedSummariser([long]), asked, reason: "manual" });
  expect(own.errors).toEqual([]);
  expect(own.result).toMatchObject({ status: "compacted", rung: "extension" });
});
