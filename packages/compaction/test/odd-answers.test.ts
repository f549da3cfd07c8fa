import type { LifecycleNotice } from "@bonsai-agent/lifecycle";
import { BonsaiError, emptyUsage } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, navigateTree, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";

const settings = compactionSettings({ keepRecentTokens: 50 }, { estimator: "chars4" });

const circle: Record<string, unknown> = {};
circle.self = circle;
let nested: unknown = "deep";
for (let level = 0; level < 5_000; level += 1) nested = { nested };
const throwing = {
  get total(): number {
    throw new Error("no total");
  },
};
const { cost: _cost, ...counts } = { ...emptyUsage(), input: 120, output: 30 };

/** Malformed parts of an answer with a sound summary. `kept`: the compaction uses the summary. */
const ODD_PARTS: Record<string, { part: object; kept: boolean }> = {
  "usage without cost": { part: { usage: counts }, kept: true },
  "usage with a cost of null": { part: { usage: { ...counts, cost: null } }, kept: true },
  "usage with a cost as text": { part: { usage: { ...counts, cost: "$1" } }, kept: true },
  "usage with a number as cost": { part: { usage: { ...counts, cost: 0.2 } }, kept: true },
  "usage with an empty cost": { part: { usage: { ...counts, cost: {} } }, kept: true },
  "usage with a total as text": { part: { usage: { ...counts, cost: { total: "1" } } }, kept: true },
  "usage with a total of NaN": { part: { usage: { ...counts, cost: { total: Number.NaN } } }, kept: true },
  "usage with a negative total": { part: { usage: { ...counts, cost: { total: -1 } } }, kept: true },
  "usage with counts as text": { part: { usage: { input: "120", output: "30" } }, kept: true },
  "usage with endless counts": { part: { usage: { input: Number.POSITIVE_INFINITY } }, kept: true },
  "usage with negative counts": { part: { usage: { ...counts, input: -5 } }, kept: true },
  "usage of another SDK": { part: { usage: { prompt_tokens: 5, completion_tokens: 6 } }, kept: true },
  "an empty usage": { part: { usage: {} }, kept: true },
  "usage of null": { part: { usage: null }, kept: true },
  "usage as text": { part: { usage: "150 tokens" }, kept: false },
  "usage as a number": { part: { usage: 150 }, kept: false },
  "usage as a list": { part: { usage: [1, 2] }, kept: false },
  "usage as a function": { part: { usage: () => counts }, kept: false },
  "details with a circle": { part: { details: circle }, kept: false },
  "details with a BigInt": { part: { details: { size: 1n } }, kept: false },
  "details with endless depth": { part: { details: nested }, kept: false },
  "details that are a function": { part: { details: () => 1 }, kept: false },
  "details that are a symbol": { part: { details: Symbol("x") }, kept: false },
  "details that throw": { part: { details: throwing }, kept: false },
  "usage that throws": { part: { usage: { ...counts, cost: throwing } }, kept: false },
  "details of null": { part: { details: null }, kept: true },
  "details as text": { part: { details: "mine" }, kept: true },
  "details like ours": { part: { details: { prose: 5, recentFiles: {}, record: "x" } }, kept: true },
  "details with odd parts of ours": {
    part: { details: { prose: "p", recentFiles: [1], record: 5, closings: {}, terms: "t", pinned: 1 } },
    kept: true,
  },
  "carry as text": { part: { carry: "userWords" }, kept: false },
  "carry as a number": { part: { carry: 5 }, kept: false },
  "carry of unknown parts": { part: { carry: ["nothing"] }, kept: true },
  "an id, a type and a parent": {
    part: { id: "mine", type: "message", parentId: "nowhere", fromId: "nowhere", timestamp: 5 },
    kept: true,
  },
  "odd sizes": { part: { tokensBefore: "many" }, kept: true },
};

/** Answers without a usable summary. */
const NO_SUMMARIES: Record<string, unknown> = {
  "a number": 5,
  "a text": "Notes.",
  "a list": ["Notes."],
  "a function": () => "Notes.",
  true: true,
  "an empty object": {},
  "a summary of null": { summary: null },
  "a summary of numbers": { summary: 5 },
  "a summary as a list": { summary: ["Notes."] },
  "a summary as an object": { summary: { text: "Notes." } },
  "an empty summary": { summary: "" },
  "a blank summary": { summary: " \n" },
};

function stage() {
  const { session } = history("U:3000 A:3000 | U:100 A:100 | U:100 A:100");
  const notices: LifecycleNotice[] = [];
  const lifecycle = compactionLifecycle(notices);
  return { session, lifecycle, notices };
}

test("an extension's malformed answer does not stop a compaction", () =>
  everyRow(Object.entries(ODD_PARTS))(async ([, odd]) => {
    const { session, lifecycle, notices } = stage();
    lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => {
      const compaction = { summary: "Notes of an extension.", firstKeptEntryId, tokensBefore, ...odd.part };
      return { compaction } as never;
    });
    const { status, entry, error } = await runCompaction({ session, settings, reason: "manual", lifecycle });
    expect([status, error]).toEqual(["compacted", undefined]);
    expect(entry!.summary.includes("Notes of an extension.")).toBe(odd.kept);
    expect(notices.map(({ type }) => type)).toEqual(odd.kept ? [] : ["invalid_result"]);
    const { usage } = JSON.parse(JSON.stringify(entry));
    if (usage !== undefined) expect(Object.values(usage.cost).every(Number.isFinite)).toBe(true);
  }));

test("a compaction reports an extension's unusable summary", () =>
  everyRow(Object.entries(NO_SUMMARIES))(async ([, compaction]) => {
    const { session, lifecycle, notices } = stage();
    lifecycle.on("session_before_compact", () => ({ compaction }) as never);
    const { status, error } = await runCompaction({ session, settings, reason: "manual", lifecycle });
    if (status === "compacted") expect(notices.map(({ type }) => type)).toEqual(["invalid_result"]);
    else
      expect(BonsaiError.is(error) && error.code).toMatch(
        /^(?:extension_summary_empty|first_kept_entry_unknown)$/,
      );
  }));

test("an extension's malformed answer does not stop a move in the tree", () =>
  everyRow(Object.entries(ODD_PARTS))(async ([, odd]) => {
    const { session, lifecycle, notices } = stage();
    const [, answer] = session.path();
    lifecycle.on("session_before_tree", () => {
      return { summary: { summary: "Notes of an extension.", ...odd.part } } as never;
    });
    const move = { session, targetId: answer!.id, settings, summarise: true, lifecycle };
    const { status, summaryEntry } = await navigateTree(move);
    expect(status).toBe("moved");
    expect(summaryEntry).toMatchObject({ type: "branch_summary", parentId: answer!.id });
    expect(summaryEntry!.summary.includes("Notes of an extension.")).toBe(odd.kept);
    expect(notices.map(({ type }) => type)).toEqual(odd.kept ? [] : ["invalid_result"]);
  }));
