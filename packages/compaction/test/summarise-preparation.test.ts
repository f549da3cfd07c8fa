import { emptyUsage } from "@bonsai-agent/messages";
import { everyRow, fewRuns, history, treeArbitrary } from "@bonsai-agent/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { BeforeCompact } from "../src/events.ts";
import { digestSummariser, runCompaction, type Summariser, summarisePreparation } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import {
  cases,
  compacted,
  detailsOf,
  messagesOf,
  model,
  past,
  settings,
  withoutIds,
} from "./extension-summary.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

test("an extension's summary by the same summariser is the default's", () =>
  everyRow(cases)(async ([, notation]) => {
    const usual = await compacted({ notation, extension: null, summariser: scriptedSummariser() });
    const own = await compacted({ notation, extension: scriptedSummariser() });
    expect(usual.result.status).toBe("compacted");
    expect(own.errors).toEqual([]);
    expect(own.text).toEqual(usual.text);
    expect(own.result.tokensAfter).toBe(usual.result.tokensAfter);
    expect(own.result.rung).toBe("extension");
    expect(own.result.entry).toMatchObject({ fromHook: true, usage: usual.result.entry!.usage });
    expect(detailsOf(own.result.entry!, own.session)).toEqual(detailsOf(usual.result.entry!, usual.session));
    expect(own.result.readFiles).toEqual(usual.result.readFiles);
    expect(own.result.modifiedFiles).toEqual(usual.result.modifiedFiles);
  }));

test("the digest, chosen by an extension, is the default's", () =>
  everyRow(cases)(async ([, notation]) => {
    const usual = await compacted({ notation, extension: null });
    const own = await compacted({
      notation,
      extension: digestSummariser(),
      summariser: scriptedSummariser(),
    });
    expect(usual.result.rung).toBe("digest");
    expect(own.errors).toEqual([]);
    expect(own.text).toEqual(usual.text);
  }));

test("a conversation too long for the summariser is summarised in chunks", async () => {
  const small = { contextWindow: 20_000, maxOutputTokens: 2_000 };
  const notation = "U:9000 A:9000 | U:9000 A:9000 | U:9000 A:9000 | U:100 A:100";
  const usual = await compacted({ notation, extension: null, summariser: scriptedSummariser([], small) });
  const summariser = scriptedSummariser([], small);
  const own = await compacted({ notation, extension: summariser });
  expect(summariser.requests.length).toBeGreaterThan(2);
  expect(own.text).toEqual(usual.text);
});

test("text that another extension carries over has the same place with and without an extension's summary", async () => {
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
    const lifecycle = compactionLifecycle();
    await runCompaction({
      session: first.session,
      settings,
      model,
      summariser,
      reason: "threshold",
      lifecycle,
    });
    const { previousSummary = "" } = summariser.requests.at(-1) ?? {};
    return { text: messagesOf(first.session), previous: withoutIds(previousSummary, first.session) };
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
  await fc.assert(law, fewRuns(20));
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

test("text that an extension adds to our summary becomes part of its prose, and the carried data stay", async () => {
  const { session } = history(past);
  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_compact", async ({ preparation }) => {
    const { compaction } = await summarisePreparation({ preparation, summariser: scriptedSummariser() });
    return { compaction: { ...compaction, summary: `${compaction.summary}\n\nAnd more.` } };
  });
  const result = await runCompaction({ session, settings, model, reason: "threshold", lifecycle });
  expect(result.summary?.indexOf("And more.")).toBeLessThan(result.summary!.indexOf("<modified-files>"));
  expect(result.summary?.match(/<modified-files>/g)).toHaveLength(1);
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

test("without a summariser of its own, whoever would summarise is asked; without a model, the digest", async () => {
  for (const summariser of [scriptedSummariser(), undefined]) {
    const { session } = history(past);
    const lifecycle = compactionLifecycle();
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

test("the cost of a failed attempt is added to the summary that replaces it", async () => {
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
