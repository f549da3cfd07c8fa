import { everyRow, history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { type CompactionSettings, manifestOf, type ReviewDecision, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
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
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

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
  const never: CompactionSettings = { ...settings, summarizer: { kind: "auto", fallback: "never" } };
  const script: Script = [apply, { action: "again", focus: "ports" }, apply];
  const { drafts, result } = await reviewed(script, { summariser, settings: never });
  expect(drafts.at(-1)).toMatchObject({ stage: "ready", problem: expect.stringContaining("no more today") });
  expect(result).toMatchObject({ status: "compacted", requests: 2 });
});

test("a failure without a draft is the failure that it is without a look", async () => {
  const summariser = scriptedSummariser([new Error("not today")]);
  const never: CompactionSettings = { ...settings, summarizer: { kind: "auto", fallback: "never" } };
  const { result, stages, isUnchanged } = await reviewed([], { summariser, settings: never });
  expect(stages()).toEqual(["plan"]);
  expect(result).toMatchObject({ status: "failed", error: { code: "compaction_failed" } });
  expect(isUnchanged).toBe(true);
});

describe("a draft of an extension", () => {
  function extension(summary: () => string | undefined) {
    const lifecycle = compactionLifecycle();
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
