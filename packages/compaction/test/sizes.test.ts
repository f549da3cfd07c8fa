import { MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type CompactionReason,
  type CompactionResult,
  compactionSettings,
  planCompaction,
  readContext,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

/** Reported tokens: they can be far above and far below the estimate. */
const reported = fc.option(fc.integer({ min: 1, max: 40_000 }), { nil: undefined });
const sessions = fc.record({ tree: treeArbitrary({ maxTokens: 400 }), last: reported });
const cases = fc.record({
  ...{ session: sessions, keepTokens: fc.integer({ min: 0, max: 1_500 }) },
  estimator: fc.constantFrom("calibrated", "chars4", "chars4Floor"),
  reason: fc.constantFrom<CompactionReason>("manual", "threshold", "overflow"),
  refused: fc.option(fc.integer({ min: 1, max: 90_000 }), { nil: undefined }),
  window: fc.constantFrom(undefined, 2_000, 8_000, 200_000),
});
type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never;

function opened({ session: { tree, last } }: Case): Session {
  return history(last === undefined ? tree : `${tree} | U:200 A:100@${last} U:80`).session;
}

function optionsFor({ keepTokens, estimator, reason, refused, window }: Case) {
  const settings = compactionSettings(
    { keepRecentTokens: keepTokens, mask: { protectTokens: 2_000, minimumTokens: 500 } },
    { estimator: estimator as "chars4" },
  );
  return {
    ...{ settings, reason },
    ...(refused === undefined ? {} : { refusal: { inputTokens: refused } }),
    ...(window === undefined ? {} : { model: { contextWindow: window } }),
  };
}

function addsUp({ tokensBefore, tokensAfter, sizes }: CompactionResult): void {
  const { fixedTokens, summarisedTokens, turnPrefixTokens, keptTokens, summaryTokens } = sizes;
  const { maskedTokens, shortenedTokens } = sizes;
  const gone = summarisedTokens + turnPrefixTokens + maskedTokens + shortenedTokens;
  expect(fixedTokens + keptTokens + gone).toBe(tokensBefore);
  expect(tokensBefore - gone + summaryTokens).toBe(tokensAfter);
  for (const tokens of Object.values(sizes)) expect(tokens).toBeGreaterThanOrEqual(0);
}

/** The session as the next opening of its file reads it. */
function openedAgain(session: Session): Session {
  const bytes = Buffer.alloc(session.store.size());
  session.store.read(bytes, 0);
  return openSession({ store: new MemoryStore(bytes) });
}

/** Tokens that the next reader of the context finds in the same process. */
function nextReading(session: Session, estimatorName: Case["estimator"]): number {
  const settings = compactionSettings({}, { estimator: estimatorName as "chars4" });
  return readContext({ session, estimator: settings.estimator }).tokens;
}

test("Invariant: before = fixed + summarised + turn prefix + masked + shortened + kept, and after = fixed + summary + kept", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (each) => {
      const session = opened(each);
      const options = optionsFor(each);
      const plan = planCompaction({ session, ...options });
      addsUp(plan);
      const result = await runCompaction({ session, ...options, digest: scriptedSummariser() });
      addsUp(result);
      if (each.reason !== "overflow" || each.refused === undefined)
        expect(result.tokensBefore).toBe(plan.tokensBefore);
    }),
  );
});

test("a reading after a compaction finds the size that its result has, one compaction after the other", async () => {
  await fc.assert(
    fc.asyncProperty(cases, fc.boolean(), async (each, goesOn) => {
      const session = opened(each);
      const options = optionsFor(each);
      const run = () => runCompaction({ session, ...options, digest: scriptedSummariser() });
      const first = await run();
      fc.pre(first.status === "compacted" || first.status === "masked");
      expect(nextReading(session, each.estimator)).toBe(first.tokensAfter);
      expect(nextReading(openedAgain(session), each.estimator)).toBe(first.tokensAfter);
      const { manifest } = (first.entry?.details ?? {}) as { manifest?: Record<string, unknown> };
      if (manifest !== undefined) expect(manifest).toMatchObject({ tokensAfter: first.tokensAfter });
      history(goesOn ? "U:900 A:300@5000 | U:40 A:40" : "U:900 A:300", session);
      const second = await run();
      addsUp(second);
      if (second.status !== "compacted") return;
      expect(nextReading(session, each.estimator)).toBe(second.tokensAfter);
      expect(nextReading(openedAgain(session), each.estimator)).toBe(second.tokensAfter);
    }),
  );
});

test("reported tokens above the estimates stay; an estimate above the report is scaled down for all messages", async () => {
  const plan = (at: number) => {
    const { session } = history(`U:1000 A:1000 | U:1000 A:1000@${at}`);
    return planCompaction({
      session,
      settings: compactionSettings({ keepRecentTokens: 1_500 }, { estimator: "chars4" }),
    });
  };
  const [more, less] = [plan(9_000), plan(2_000)];
  expect(more.sizes).toMatchObject({ fixedTokens: 5_000, summarisedTokens: 2_000, keptTokens: 2_000 });
  expect(more.tokensAfter).toBe(7_000 + more.sizes.summaryTokens);
  expect(less.sizes).toMatchObject({ fixedTokens: 0, summarisedTokens: 1_000, keptTokens: 1_000 });
});

test("a plan's size afterwards counts a summary that is not written yet", () => {
  const { session } = history("U:8000 A:8000 | U:4000 A:4000");
  const plan = planCompaction({ session, settings: compactionSettings({ keepRecentTokens: 1_500 }) });
  expect(plan.sizes.summaryTokens).toBeGreaterThan(0);
  expect(plan.tokensAfter).toBe(plan.sizes.keptTokens + plan.sizes.fixedTokens + plan.sizes.summaryTokens);
  expect(plan.summary).toBeUndefined();
});

test("a plan lists the requests before anybody is asked: one, one more for a split turn, several in parts", async () => {
  const asked = async (notation: string, contextWindow: number, keepRecentTokens = 300) => {
    const settings = compactionSettings({ keepRecentTokens }, { estimator: "chars4" });
    const sizes = { name: "some/model", contextWindow, maxOutputTokens: 2_000 };
    const { session } = history(notation);
    const plan = planCompaction({ session, settings, summariser: sizes });
    const summariser = { ...scriptedSummariser(), ...sizes };
    const { requests } = await runCompaction({ session, settings, summariser });
    return { plan, requests };
  };
  const one = await asked("U:900 A:900 | U:200 A:200", 200_000);
  const split = await asked("U:900 A:900 | U:200 A(t1):300 T1:400 A:280", 200_000);
  const parts = await asked("U:900 A:5000 | U:900 A:5000 | U:900 A:5000 | U:200 A:200", 8_000);
  const kinds = ({ plan }: typeof one) => plan.plannedRequests?.map(({ kind }) => kind);
  expect(kinds(one)).toEqual(["history"]);
  expect(kinds(split)).toEqual(["history", "turnPrefix"]);
  expect(parts.plan.plannedRequests!.length).toBeGreaterThan(1);
  for (const { plan, requests } of [one, split, parts]) expect(plan.plannedRequests).toHaveLength(requests);
  for (const { inputTokens, maxOutputTokens } of parts.plan.plannedRequests!) {
    expect(inputTokens).toBeLessThanOrEqual(8_000 - 2_000);
    expect(maxOutputTokens).toBeGreaterThan(0);
  }
  const none = await asked("U:900 A:5000 | U:200 A:200", 300);
  expect(none.plan.plannedRequests).toEqual([]);
  expect(none.plan.failures[0]?.message).toContain("some/model");
});

test("an undo gives back the size that was reported before the compaction, and a redo the size after it", async () => {
  const { session } = history("U:1000 A:1000 | U:1000 A:1000@148000 | U:20");
  const settings = compactionSettings({ keepRecentTokens: 500 });
  const size = () => readContext({ session, estimator: settings.estimator });
  const before = size();
  expect(before).toMatchObject({ source: "usage", tokens: 148_000 + before.trailingTokens });
  const { entry, tokensAfter } = await runCompaction({ session, settings, digest: scriptedSummariser() });
  session.undoCompaction(entry!.id);
  expect(size()).toMatchObject({ source: "usage", tokens: before.tokens });
  session.redoCompaction(entry!.id);
  expect(size().tokens).toBe(tokensAfter);
});

test("the usage of an answer counts only while the model sees the context of that answer", async () => {
  const { session } = history("U:1000 A:1000 | U:1000 A:1000@148000");
  const settings = compactionSettings({ keepRecentTokens: 500 });
  const size = () => readContext({ session, estimator: settings.estimator });
  const { entry } = await runCompaction({ session, settings, digest: scriptedSummariser() });
  history("U:20 A:20@9000", session);
  expect(size()).toMatchObject({ source: "usage", tokens: 9_000 });
  session.undoCompaction(entry!.id);
  // The answer to the summary says nothing of the whole history; the one before the compaction does.
  expect(size()).toMatchObject({ source: "usage", tokens: 148_000 + size().trailingTokens });
  expect(size().trailingTokens).toBeGreaterThan(0);
  session.redoCompaction(entry!.id);
  expect(size()).toMatchObject({ source: "usage", tokens: 9_000 });
  history("U:20 A:20@9100", session);
  expect(size()).toMatchObject({ source: "usage", tokens: 9_100 });
});
