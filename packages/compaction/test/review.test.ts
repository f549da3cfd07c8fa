import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CompactionController,
  type CompactionDraft,
  type CompactionReason,
  manifestOf,
  type ReviewDecision,
  runCompaction,
} from "../src/index.ts";
import {
  apply,
  edited,
  model,
  onFile,
  prose,
  reviewed,
  type Script,
  scripted,
  settings,
} from "./reviewed.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const reasons: readonly CompactionReason[] = ["manual", "threshold", "overflow"];

/** Cuts at the nearest place. */
function moved(to: "earlier" | "later") {
  return ({ cuts }: CompactionDraft): ReviewDecision => ({
    action: "cut",
    firstKeptEntryId: cuts[to]?.entryId ?? "",
  });
}

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
