import { Lifecycle } from "@bonsai-agent/lifecycle";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionEvents,
  compactionEventRules,
  compactionSettings,
  navigateTree,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({}, { estimator: "chars4" });

test("an extension may cancel the move, or give the summary and a label", async () => {
  const { session, id } = history("U A | U A");
  const lifecycle = compactionLifecycle();
  const off = lifecycle.on("session_before_tree", () => ({ cancel: true }));
  expect((await navigateTree({ session, targetId: id("a1"), settings, lifecycle })).status).toBe("cancelled");
  off();
  const told: unknown[] = [];
  lifecycle.on("session_before_tree", ({ preparation }) => {
    expect(preparation).toMatchObject({
      targetId: id("a1"),
      commonAncestorId: id("a1"),
      userWantsSummary: true,
    });
    return { summary: { summary: "Tried it." }, label: "tried" };
  });
  lifecycle.on("session_tree", (event) => void told.push(event));
  const moved = await navigateTree({ session, targetId: id("a1"), settings, lifecycle, summarise: true });
  expect(moved.summaryEntry).toMatchObject({ summary: "Tried it.", fromHook: true });
  expect(told).toEqual([expect.objectContaining({ fromExtension: true, summaryEntry: moved.summaryEntry })]);
  expect(session.entries().at(-1)).toMatchObject({
    type: "label",
    label: "tried",
    targetId: moved.summaryEntry?.id,
  });
});

test("a user who wants no summary gets none, even if an extension supplies one", async () => {
  const { session, id } = history("U A | U A");
  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_tree", ({ preparation }) => {
    expect(preparation.userWantsSummary).toBe(false);
    return { summary: { summary: "Tried it." } };
  });
  const moved = await navigateTree({ session, targetId: id("a1"), settings, lifecycle });
  expect(moved).toEqual({ status: "moved", leafId: id("a1"), previousLeafId: id("a2") });
  expect(session.entries().some(({ type }) => type === "branch_summary")).toBe(false);
});

test("files are cumulative over branch summaries and compactions, in both directions", async () => {
  const { session, id } = history("U A | U A(t1=edit:a.ts) T1 A C() U A(t2=read:b.ts) T2 A");
  const summariser = scriptedSummariser();
  const compaction = session.entry(id("c1"));
  if (compaction?.type === "compaction")
    compaction.details = { readFiles: ["r.ts"], modifiedFiles: ["m.ts"] };
  const moved = await navigateTree({ session, targetId: id("a1"), settings, summariser, summarise: true });
  expect(moved.summaryEntry?.details).toMatchObject({ readFiles: ["b.ts", "r.ts"], modifiedFiles: ["m.ts"] });
});

test("an extension's empty summary is refused, and nothing moves", async () => {
  const { session, id } = history("U A | U A");
  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_tree", () => ({ summary: { summary: " " } }));
  const before = JSON.stringify(session.entries());
  const move = navigateTree({ session, targetId: id("a1"), settings, lifecycle, summarise: true });
  await expect(move).rejects.toThrow(expect.objectContaining({ code: "extension_summary_empty" }));
  expect(JSON.stringify(session.entries())).toBe(before);
});

test("a summary that cannot be written moves nothing", async () => {
  const { session, id } = history("U A | U A");
  const { leafId } = session;
  session.append = (): never => {
    throw new Error("no space left");
  };
  const summariser = scriptedSummariser();
  const move = navigateTree({ session, targetId: id("a1"), settings, summarise: true, summariser });
  await expect(move).rejects.toThrow("no space left");
  expect(session.leafId).toBe(leafId);
});

test("a handler that throws or answers wrongly is reported, and the move goes on; a label without a summary is set", async () => {
  const { session, id } = history("U A | U A");
  const notices: string[] = [];
  const lifecycle = new Lifecycle<CompactionEvents>({
    rules: compactionEventRules,
    onNotice: ({ type }) => notices.push(type),
  });
  lifecycle.on("session_before_tree", () => {
    throw new Error("lost");
  });
  lifecycle.on("session_before_tree", () => ({ lable: "tried" }) as never);
  lifecycle.on("session_before_tree", ({ preparation }) => {
    expect(Object.isFrozen(preparation)).toBe(true);
    return { label: "tried" };
  });
  expect((await navigateTree({ session, targetId: id("a1"), settings, lifecycle })).status).toBe("moved");
  expect(notices).toEqual(["handler_error", "invalid_result"]);
  expect(session.label(id("a1"))).toBe("tried");
});
