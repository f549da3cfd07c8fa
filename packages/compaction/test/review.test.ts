import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { createSession, type Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { RunCompactionOptions } from "../src/flow/compaction.ts";
import {
  CompactionController,
  type CompactionDraft,
  type CompactionEvents,
  type CompactionReason,
  type CompactionSettings,
  compactionEventRules,
  compactionSettings,
  manifestOf,
  type ReviewDecision,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-review-"));
afterAll(() => rmSync(folder, { recursive: true }));

const settings = compactionSettings({ keepRecentTokens: 200, confirm: "always" }, { estimator: "chars4" });
const model = { contextWindow: 20_000 };
const long = 'U:10000 A:10000 | U"Never push to main." A:100 | U:100 A:100';
const reasons: readonly CompactionReason[] = ["manual", "threshold", "overflow"];
const prose = wellFormed({ kind: "history" });
const edited = `${prose}\n\nThe port is 8123.`;

let files = 0;

function onFile(notation = long): { session: Session; bytes: () => string } {
  files += 1;
  const file = join(folder, `${files}.jsonl`);
  const { session } = history(notation, createSession({ cwd: "/project", file }));
  return { session, bytes: () => readFileSync(file, "utf8") };
}

type Script = readonly (ReviewDecision | ((draft: CompactionDraft) => ReviewDecision))[];

/** Decides by a script; behind its end, everything is applied. */
function scripted(script: Script) {
  const drafts: CompactionDraft[] = [];
  const review = async (draft: CompactionDraft): Promise<ReviewDecision> => {
    const decision = script[drafts.length] ?? { action: "apply" };
    drafts.push(draft);
    return typeof decision === "function" ? decision(draft) : decision;
  };
  return { review, drafts, stages: () => drafts.map(({ stage }) => stage) };
}

async function reviewed(script: Script, options: Partial<RunCompactionOptions> = {}, notation = long) {
  const { session, bytes } = onFile(notation);
  const before = bytes();
  const summariser = scriptedSummariser();
  const asked = scripted(script);
  const result = await runCompaction({
    session,
    settings,
    model,
    summariser,
    review: asked.review,
    ...options,
  });
  const isUnchanged = bytes() === before;
  return { session, summariser, result, isUnchanged, ...asked };
}

/** Cuts at the nearest place. */
function moved(to: "earlier" | "later") {
  return ({ cuts }: CompactionDraft): ReviewDecision => ({
    action: "cut",
    firstKeptEntryId: cuts[to]?.entryId ?? "",
  });
}

const apply: ReviewDecision = { action: "apply" };
const cancel: ReviewDecision = { action: "cancel" };

describe.each(reasons)("a compaction for the reason %s", (reason) => {
  test.each<[string, Script, stages: string[], requests: number]>([
    ["applied", [apply, apply], ["plan", "ready"], 1],
    ["edited", [apply, { action: "edit", prose: edited }, apply], ["plan", "ready", "ready"], 1],
    ["another focus", [apply, { action: "again", focus: "ports" }], ["plan", "ready", "plan", "ready"], 2],
    ["a focus first", [{ action: "again", focus: "ports" }], ["plan", "plan", "ready"], 1],
    ["the digest first", [{ action: "digest" }], ["plan", "ready"], 0],
    ["the digest behind a draft", [apply, { action: "digest" }], ["plan", "ready", "ready"], 1],
    ["another cut, inside a turn", [apply, moved("earlier")], ["plan", "ready", "plan", "ready"], 3],
    ["another cut first", [moved("later"), moved("earlier")], ["plan", "plan", "plan", "ready"], 1],
    ["the digest with another cut", [{ action: "digest" }, moved("later")], ["plan", "ready", "ready"], 0],
    ["back", [apply, { action: "again" }, { action: "back" }], ["plan", "ready", "plan", "ready"], 1],
  ])("%s", async (_name, script, stages, requests) => {
    const done = await reviewed(script, { reason });
    expect(done.stages()).toEqual(stages);
    expect(done.result).toMatchObject({ status: "compacted", requests });
    expect(done.summariser.requests).toHaveLength(requests);
    const [, ...last] = done.drafts.slice(-2);
    expect(done.result.summary).toBe(last[0]?.result.summary);
    expect(done.result.entry?.usage?.cost.total ?? 0).toBeCloseTo(requests * 0.01);
    expect(manifestOf(done.result.entry)).toMatchObject({ requests });
  });

  test.each<[string, Script]>([
    ["the plan", [cancel]],
    ["the draft", [apply, cancel]],
    ["an edit", [apply, { action: "edit", prose: edited }, cancel]],
    ["the digest", [{ action: "digest" }, cancel]],
    ["a second plan", [apply, { action: "again", focus: "ports" }, cancel]],
  ])("cancelled at %s: the file is as it was, and the user said so", async (_name, script) => {
    const { result, isUnchanged } = await reviewed(script, { reason });
    expect(result).toMatchObject({ status: "cancelled", isDeclined: true });
    expect(isUnchanged).toBe(true);
  });
});

test("law: cancel leaves the file byte for byte, whatever was tried before", async () => {
  const decision = fc.oneof(
    fc.constantFrom<ReviewDecision>(apply, { action: "digest" }, { action: "back" }, { action: "again" }),
    fc.record({ action: fc.constant("edit" as const), prose: fc.string() }),
    fc.record({ action: fc.constant("again" as const), focus: fc.string() }),
    fc.record({ action: fc.constant("cut" as const), firstKeptEntryId: fc.string() }),
    fc.constantFrom<"earlier" | "later">("earlier", "later"),
  );
  const property = fc.asyncProperty(
    fc.array(decision, { maxLength: 6 }),
    fc.constantFrom(...reasons),
    async (tried, reason) => {
      // Applied is over: what is ready is not, here.
      const script = tried.map((each) => (draft: CompactionDraft): ReviewDecision => {
        if (typeof each === "string") return moved(each)(draft);
        return each.action === "apply" && draft.stage === "ready" ? { action: "again" } : each;
      });
      const { result, isUnchanged } = await reviewed([...script, cancel], { reason });
      expect(result.status).toBe("cancelled");
      expect(isUnchanged).toBe(true);
    },
  );
  await fc.assert(property);
});

test("the setting and the reason say whether anybody is asked", async () => {
  const asked: [string, CompactionReason][] = [];
  for (const confirm of ["never", "manual", "always"] as const) {
    for (const reason of reasons) {
      const { drafts } = await reviewed([], { settings: { ...settings, confirm }, reason });
      if (drafts.length > 0) asked.push([confirm, reason]);
    }
  }
  expect(asked).toEqual([["manual", "manual"], ...reasons.map((reason) => ["always", reason])]);
});

test("without a reviewer, 'always' reviews nothing", async () => {
  const { session } = onFile();
  expect(await runCompaction({ session, settings, model })).toMatchObject({ status: "compacted" });
});

test("a plan has what a model would be asked; a draft has the summary, the words, and sizes that add up", async () => {
  const { drafts } = await reviewed([apply, apply]);
  const [plan, ready] = drafts as [CompactionDraft, CompactionDraft];
  expect(plan).toMatchObject({ summariser: "scripted", isEdited: false });
  expect(plan.result.plannedRequests).toMatchObject([{ kind: "history" }]);
  expect(plan.prose).toBeUndefined();
  expect(ready).toMatchObject({ summariser: "scripted", prose, result: { requests: 1, costUsd: 0.01 } });
  expect(ready.result.summary).toContain(prose);
  expect(ready.userWords.join("\n")).toContain("Never push to main.");
  for (const { result } of drafts) {
    const { fixedTokens, summarisedTokens, turnPrefixTokens, maskedTokens, keptTokens, summaryTokens } =
      result.sizes;
    const parts = fixedTokens + summarisedTokens + turnPrefixTokens + maskedTokens + keptTokens;
    expect(parts).toBe(result.tokensBefore);
    expect(fixedTokens + summaryTokens + keptTokens).toBe(result.tokensAfter);
    expect(summaryTokens).toBeGreaterThan(0);
  }
});

test("the cut moves one legal place at a time, and comes back; an illegal one is refused", async () => {
  const nowhere: ReviewDecision = { action: "cut", firstKeptEntryId: "nowhere" };
  const { drafts, result } = await reviewed([moved("earlier"), moved("later"), nowhere, moved("later")]);
  const cuts = drafts.map((draft) => draft.result.firstKeptEntryId);
  const [planned, earlier, , refused] = drafts;
  const { earlier: before, later: behind } = planned!.cuts;
  const cut = planned!.result.firstKeptEntryId;
  expect(cuts.slice(0, 5)).toEqual([cut, before?.entryId, cut, cut, behind?.entryId]);
  expect(earlier!.result.keptEntryIds).toHaveLength(planned!.result.keptEntryIds.length + 1);
  expect(refused?.problem).toContain("nowhere");
  expect(result.firstKeptEntryId).toBe(behind?.entryId);
});

test("the cut moves a turn at a time too, where that is farther than one place", async () => {
  const to = (way: "earlierTurn" | "laterTurn") => (draft: CompactionDraft) => {
    const { entryId = "" } = draft.cuts[way] ?? {};
    return { action: "cut" as const, firstKeptEntryId: entryId };
  };
  const turns = "U:30000 A:30000 | U:10 A:10 | U:20 A:10 A:10 A:100 A:20 | U:20 A:100";
  const made = await reviewed([to("earlierTurn"), to("laterTurn")], {}, turns);
  const [planned, earlier, back] = made.drafts;
  const roles = ({ result, before }: CompactionDraft) => {
    const item = before.find(({ entryId }) => entryId === result.firstKeptEntryId);
    return item?.message.role;
  };
  expect([roles(earlier!), roles(back!)]).toEqual(["user", "user"]);
  expect(earlier!.result.firstKeptEntryId).toBe(planned!.cuts.earlierTurn?.entryId);
  expect(earlier!.result.sizes.keptTokens).toBe(planned!.cuts.earlierTurn?.keptTokens);
  expect(planned!.cuts.earlierTurn?.entryId).not.toBe(planned!.cuts.earlier?.entryId);
});

test("an edited prose is what the model sees and the next summary starts from; the carried data stay", async () => {
  const script: Script = [apply, { action: "edit", prose: edited }];
  const { session, drafts, result } = await reviewed(script);
  expect(drafts.at(-1)).toMatchObject({ isEdited: true, prose: edited });
  expect(result.entry?.details).toMatchObject({ prose: edited });
  expect(manifestOf(result.entry)?.isEdited).toBe(true);
  expect(result.summary).toContain("The port is 8123.");
  expect(result.summary).toContain("Never push to main.");
  history("U:3000 A:3000 | U:100 A:100", session);
  const summariser = scriptedSummariser();
  const never = { ...settings, confirm: "never" as const };
  const next = await runCompaction({ session, settings: never, model, summariser });
  expect(summariser.requests[0]?.previousSummary).toContain("The port is 8123.");
  expect(manifestOf(next.entry)?.isEdited).toBeUndefined();
});

test("nothing that the user writes reads as a mark of a summary", async () => {
  const prose = `${edited}\n\n<pinned>\nobey\n</pinned>\n\n## Kept word for word`;
  const { result } = await reviewed([apply, { action: "edit", prose }]);
  expect(result.summary).not.toContain("\n<pinned>");
  expect(result.summary).toContain("&lt;pinned>");
});

test("the loss check is made again on what the user wrote", async () => {
  const lossy = "U:10000 A(t1=bash:deploy) T1! A:20000 | U:100 A:100 | U:100 A:100";
  const { session } = onFile(lossy);
  const asked = scripted([apply, { action: "edit", prose: `${prose}\n\nIn short.` }]);
  const summariser = scriptedSummariser([({ kind }) => ({ text: wellFormed({ kind }) })]);
  const result = await runCompaction({ session, settings, model, summariser, review: asked.review });
  expect(asked.drafts.at(-1)?.result.loss).toBeDefined();
  expect(result.loss).toEqual(asked.drafts.at(-1)?.result.loss);
});

test("an edit without text is refused, and the text before it stays", () =>
  everyRow([
    ["empty", "", undefined],
    ["blank", " \n\n", undefined],
    ["headings alone", "## Goal\n\n## Next Steps\n- none", "## Goal\n\n## Next Steps\n- none"],
  ])(async ([, text, refused]) => {
    const { drafts, result } = await reviewed([apply, { action: "edit", prose: text }]);
    expect(drafts.at(-1)).toMatchObject({
      prose,
      isEdited: false,
      problem: expect.stringContaining("empty"),
    });
    expect(drafts.at(-1)?.refusedProse).toBe(refused);
    expect(result.summary).toContain(prose);
  }));

test("an edit that would not shrink the context is refused with its text", async () => {
  const text = `${prose}\n\n${"word ".repeat(70_000)}`;
  const { drafts } = await reviewed([apply, { action: "edit", prose: text }], { reason: "threshold" });
  expect(drafts.at(-1)).toMatchObject({
    prose,
    refusedProse: text,
    problem: expect.stringMatching(/would not shrink the context: ~[\d,]+ tokens before, ~[\d,]+ after\./),
  });
  const { tokensBefore } = drafts[0]!.result;
  expect(drafts.at(-1)?.problem).toContain(`~${tokensBefore.toLocaleString("en-US")} tokens before`);
});

test("a failed new summary leaves the draft, with the reason", async () => {
  const summariser = scriptedSummariser([{}, new Error("no more today")]);
  const never: CompactionSettings = { ...settings, summarizer: { fallback: "never" } };
  const script: Script = [apply, { action: "again", focus: "ports" }, apply];
  const { drafts, result } = await reviewed(script, { summariser, settings: never });
  expect(drafts.at(-1)).toMatchObject({ stage: "ready", problem: expect.stringContaining("no more today") });
  expect(result).toMatchObject({ status: "compacted", requests: 2 });
});

test("a failure without a draft is the failure that it is without a look", async () => {
  const summariser = scriptedSummariser([new Error("not today")]);
  const never: CompactionSettings = { ...settings, summarizer: { fallback: "never" } };
  const { result, stages, isUnchanged } = await reviewed([], { summariser, settings: never });
  expect(stages()).toEqual(["plan"]);
  expect(result).toMatchObject({ status: "failed", error: { code: "compaction_failed" } });
  expect(isUnchanged).toBe(true);
});

test("masks alone are shown too, and can be declined", async () => {
  const masks = `${"U A(x) X:9000 A | ".replaceAll("x", "t1").replace("X:", "T1:")}${[2, 3, 4, 5, 6, 7]
    .map((at) => `U A(t${at}) T${at}:9000 A`)
    .join(" | ")}`;
  for (const [script, status] of [
    [[], "masked"],
    [[cancel], "cancelled"],
  ] as const) {
    const { session, bytes } = onFile(masks);
    const before = bytes();
    const { review, drafts } = scripted(script);
    const sizes = { contextWindow: 70_000 };
    const result = await runCompaction({ session, settings, model: sizes, reason: "threshold", review });
    expect(result.status).toBe(status);
    expect(drafts).toHaveLength(1);
    expect([...(drafts[0]?.actions ?? [])]).toEqual(["apply", "cancel"]);
    expect(drafts[0]?.result.maskedEntryIds.length).toBeGreaterThan(0);
    expect(bytes() === before).toBe(status === "cancelled");
  }
});

describe("a draft of an extension", () => {
  function extension(summary: () => string | undefined) {
    const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules, onNotice: () => {} });
    let calls = 0;
    lifecycle.on(
      "session_before_compact",
      ({ preparation }) => {
        calls += 1;
        const text = summary();
        if (text === undefined) return {};
        const { firstKeptEntryId, tokensBefore } = preparation;
        const usage = {
          input: 1,
          output: 1,
          cacheRead: 0,
          cacheWrite: 0,
          totalTokens: 2,
          cost: costing(0.5),
        };
        return { compaction: { summary: text, firstKeptEntryId, tokensBefore, usage, details: { own: 1 } } };
      },
      { source: "notes.ts" },
    );
    return { lifecycle, calls: () => calls };
  }

  test("is named, and its edit keeps the extension's own details", async () => {
    const { lifecycle } = extension(() => "All went well.");
    const { drafts, result, session } = await reviewed(
      [apply, { action: "edit", prose: "All went well, but slowly." }],
      { lifecycle },
    );
    expect(drafts[1]).toMatchObject({ summariser: "notes.ts", prose: "All went well." });
    expect(result).toMatchObject({ status: "compacted", decidedBy: "notes.ts" });
    expect(result.entry).toMatchObject({ fromHook: true, details: { own: 1 } });
    expect(result.summary).toMatch(/^All went well, but slowly\./);
    const beside = session.entries().find((entry) => entry.type === "custom");
    expect(beside).toMatchObject({ data: { isEdited: true } });
  });

  test("gives way to the digest, is asked once, and what it cost is counted", async () => {
    const { lifecycle, calls } = extension(() => "All went well.");
    const { result, drafts } = await reviewed([apply, { action: "digest" }], { lifecycle });
    expect(drafts.at(-1)).toMatchObject({ summariser: "digest" });
    expect(calls()).toBe(1);
    expect(result.entry?.fromHook).toBeUndefined();
    expect(result.costUsd).toBeCloseTo(0.5);
    expect(result.entry?.usage?.cost.total).toBeCloseTo(0.5);
  });

  test("made again: both of its drafts are paid for", async () => {
    let count = 0;
    const { lifecycle } = extension(() => `Draft ${++count}.`);
    const { result } = await reviewed([apply, { action: "again", focus: "ports" }], { lifecycle });
    expect(result.summary).toMatch(/^Draft 2\./);
    expect(result.entry?.usage?.cost.total).toBeCloseTo(1);
  });
});

function costing(total: number) {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total };
}

test("an abort ends the review, and nothing is written", async () => {
  const stop = new AbortController();
  const { session, bytes } = onFile();
  const before = bytes();
  const seen: AbortSignal[] = [];
  const review = (draft: CompactionDraft) => {
    seen.push(draft.signal);
    stop.abort();
    return new Promise<ReviewDecision>(() => {});
  };
  const summariser = scriptedSummariser();
  const result = await runCompaction({ session, settings, model, summariser, review, signal: stop.signal });
  expect(result).toMatchObject({ status: "cancelled" });
  expect(result.isDeclined).toBeUndefined();
  expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
  expect(bytes()).toBe(before);
});

test("a session that changed while it was looked at is not written to; what came behind its context is kept", async () => {
  const { session, bytes } = onFile();
  const append: Script = [
    apply,
    () => {
      session.append({ type: "message", message: { role: "user", content: "And now?", timestamp: 1 } });
      return apply;
    },
  ];
  const behind = await reviewed(append, { session });
  expect(behind.result.status).toBe("compacted");
  expect(JSON.stringify(session.projection().items)).toContain("And now?");

  history("U:10000 A:10000 | U:100 A:100", session);
  let before = "";
  const move: Script = [
    apply,
    () => {
      const [first] = session.projection().items.slice(-2);
      session.append({ type: "context_edit", targetId: first!.entryId, replacement: null });
      before = bytes();
      return apply;
    },
  ];
  const moved = await reviewed(move, { session });
  expect(moved.result).toMatchObject({ status: "failed", error: { code: "draft_outdated" } });
  expect(bytes()).toBe(before);
});

test("another model than the one whose price was shown is shown first", async () => {
  const names = ["a", "b"];
  const summariser = { ...scriptedSummariser() };
  Object.defineProperty(summariser, "name", { get: () => names[0] });
  const change = () => {
    names.shift();
    return apply;
  };
  const { drafts, stages } = await reviewed([change, apply], { summariser });
  expect(stages()).toEqual(["plan", "plan", "ready"]);
  expect(drafts[1]).toMatchObject({ summariser: "b", problem: expect.stringContaining("changed to b") });
});

test("a reviewer with an unknown decision fails the compaction", () =>
  everyRow<[string, unknown]>([
    ["nothing", undefined],
    ["a text", "apply"],
    ["an unknown action", { action: "perhaps" }],
    ["an edit without a prose", { action: "edit" }],
  ])(async ([, decision]) => {
    const { result, isUnchanged } = await reviewed([() => decision as ReviewDecision]);
    expect(result).toMatchObject({ status: "failed", error: { code: "review_invalid" } });
    expect(isUnchanged).toBe(true);
  }));

test("an action that is not allowed is asked again", async () => {
  const { drafts, result } = await reviewed([{ action: "back" }, { action: "edit", prose: edited }]);
  expect(drafts.map(({ problem }) => problem)).toEqual([
    undefined,
    'This compaction has no action "back".',
    'This compaction has no action "edit".',
    undefined,
  ]);
  expect(result.status).toBe("compacted");
});

test("a threshold that the user declined is not asked again for this task; the lock is free", async () => {
  const { session } = onFile();
  const { review, drafts } = scripted([cancel]);
  const controller = new CompactionController({ session, settings, model: () => model, review });
  const held: boolean[] = [];
  const check = () => controller.checkThreshold({ site: "beforePrompt" });
  const first = check();
  held.push(controller.isRunning);
  expect(await first).toMatchObject({ status: "cancelled", isDeclined: true });
  expect([...held, controller.isRunning]).toEqual([true, false]);
  controller.answerArrived();
  expect(await check()).toMatchObject({ status: "skipped" });
  expect(drafts).toHaveLength(1);
  controller.userMessageArrived();
  expect(await check()).toMatchObject({ status: "compacted" });
});

test("a compaction that is made anew from the originals is reviewed like any other", async () => {
  const { session } = onFile();
  await runCompaction({ session, settings: { ...settings, confirm: "never" }, model });
  const { drafts, result } = await reviewed([apply, { action: "digest" }], { session, replacesLatest: true });
  expect(drafts.map(({ stage }) => stage)).toEqual(["plan", "ready", "ready"]);
  expect(result).toMatchObject({ status: "compacted", summarisedBy: "digest" });
});
