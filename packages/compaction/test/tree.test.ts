import { chars4Estimator } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { branchBetween } from "../src/branch/branch.ts";
import { compactionSettings, navigateTree } from "../src/index.ts";
import { promptTokens } from "../src/ladder/ask.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({}, { estimator: "chars4" });

test("case 34: a branch summary hangs on the new leaf and names the old one", async () => {
  const { session, id } = history("U A | U A(t1=edit:a.ts) T1 A");
  const summariser = scriptedSummariser();
  const oldLeafId = session.leafId;
  const moved = await navigateTree({
    session,
    targetId: id("a1"),
    settings,
    summariser,
    summarise: true,
    focus: "the tests",
  });
  expect(moved).toMatchObject({ status: "moved", leafId: id("a1"), previousLeafId: oldLeafId });
  expect(moved.summaryEntry).toMatchObject({
    type: "branch_summary",
    parentId: id("a1"),
    fromId: oldLeafId,
    details: { readFiles: [], modifiedFiles: ["a.ts"] },
  });
  expect(session.leafId).toBe(moved.summaryEntry?.id);
  const [request] = summariser.requests;
  expect(request).toMatchObject({ kind: "branch", focus: "the tests" });
  expect(request?.prompt.user).not.toContain("Critical Context");
  expect(request?.messages).toHaveLength(4);
});

test("case 34: a branch that holds only metadata creates no entry", async () => {
  const { session, id } = history("U A | m k l p");
  const summariser = scriptedSummariser();
  const moved = await navigateTree({ session, targetId: id("a1"), settings, summariser, summarise: true });
  expect(moved.status).toBe("moved");
  expect(moved.summaryEntry).toBeUndefined();
  expect(summariser.requests).toEqual([]);
  expect(session.leafId).toBe(id("a1"));
});

test("moving to the parent of a call puts the call into the editor as the user typed it", () =>
  everyRow<[string, object, string]>([
    ["a template", { content: "Review src.", typed: "/review src" }, "/review src"],
    [
      "a skill",
      { content: '<skill name="pdf" location="/s">\nDo it.\n</skill>\n\na.pdf' },
      "/skill:pdf a.pdf",
    ],
  ])(async ([, fields, editorText]) => {
    const { session } = history("U A");
    const { id } = session.append({
      type: "message",
      message: { role: "user", content: "", timestamp: 0, ...fields },
    });
    expect(await navigateTree({ session, targetId: id, settings })).toMatchObject({ editorText });
  }));

test("moving to a message that only the model reads leaves the editor empty", async () => {
  const { session } = history("U A");
  const note = { customType: "bonsai.budget", content: "[Context: 53% used.]", display: false };
  const { id } = session.append({ type: "custom_message", ...note });
  session.append({ type: "session_info", name: "later" });
  const moved = await navigateTree({ session, targetId: id, settings });
  expect(moved).toMatchObject({ status: "moved", leafId: id });
  expect(moved.editorText).toBeUndefined();
});

test("case 35: a branch above the summariser's window is summarised in parts, and no message is left out", async () => {
  const { session, id } = history("U A | U:900 A:900 U:900 A:900 U:900 A:900");
  const summariser = scriptedSummariser([], { contextWindow: 4_000 });
  const move = { session, targetId: id("a1"), settings, summariser, summarise: true };
  const { status, summaryEntry } = await navigateTree(move);
  expect(status).toBe("moved");
  expect(summariser.requests.length).toBeGreaterThan(1);
  for (const { prompt, maxSummaryTokens } of summariser.requests)
    expect(promptTokens(prompt, chars4Estimator) + maxSummaryTokens).toBeLessThanOrEqual(4_000);
  expect(summaryEntry?.usage?.cost.total).toBeCloseTo(summariser.requests.length * 0.01);
  const read = new Set(summariser.requests.flatMap(({ messages }) => messages));
  expect([...read].filter(({ role }) => role !== "compactionSummary")).toHaveLength(6);
});

test("the branch reaches from below the deepest common ancestor to the old leaf", () => {
  const { session, id, name } = history("U A | U A ^a1 U A U");
  const branch = branchBetween(session, session.leafId, id("a2"));
  expect(branch.commonAncestorId).toBe(id("a1"));
  expect(branch.entries.map((entry) => name(entry.id)).join(" ")).toBe("u3 a3 u4");
});

test("a user message is left for its parent, and its text is for the editor", async () => {
  const { session, id } = history('U"first" A U"second" A');
  expect(await navigateTree({ session, targetId: id("u2"), settings })).toMatchObject({
    status: "moved",
    leafId: id("a1"),
    editorText: "second",
  });
  expect(await navigateTree({ session, targetId: id("u1"), settings })).toMatchObject({
    leafId: null,
    editorText: "first",
  });
  expect(session.projection().items).toEqual([]);
});

test.each([
  ["another entry", "a1", {}, "a1"],
  ["the current leaf", "a3", {}, "a3"],
  ["the current leaf, which needs no summary", "a3", { summarise: true }, "a3"],
  ["a user message", "u2", {}, "u2"],
  ["the first message, which leaves no entry", "u1", {}, "u1"],
  ["a branch, with a summary", "a1", { summarise: true }, "the summary"],
])("a label of a navigation to %s is put on %s", async (_, target, options, labelled) => {
  const { session, id } = history("U A | U A ^a1 U A");
  const summariser = scriptedSummariser();
  const move = { session, targetId: id(target), settings, summariser, label: "here", ...options };
  const { summaryEntry } = await navigateTree(move);
  const expected = labelled === "the summary" ? summaryEntry!.id : id(labelled);
  expect([...session.labels()]).toEqual([[expected, "here"]]);
});

test("a navigation that is cancelled puts no label", async () => {
  const { session, id } = history("U A | U A");
  const signal = AbortSignal.abort();
  const move = navigateTree({ session, targetId: id("a1"), settings, label: "here", signal });
  expect((await move).status).toBe("cancelled");
  expect([...session.labels()]).toEqual([]);
});

test("a failed summary cancels the navigation and changes nothing", () =>
  everyRow([
    ["a failing summariser", scriptedSummariser([new Error("down")])],
    ["an empty answer", scriptedSummariser([{ text: "" }])],
  ])(async ([, summariser]) => {
    const { session, id } = history("U A | U A");
    const before = JSON.stringify(session.entries());
    const leafId = session.leafId;
    const move = navigateTree({ session, targetId: id("a1"), settings, summariser, summarise: true });
    await expect(move).rejects.toThrow(expect.objectContaining({ code: "branch_summary_failed" }));
    expect([JSON.stringify(session.entries()), session.leafId]).toEqual([before, leafId]);
  }));

const tooLong = { stopReason: "error" as const, errorMessage: "prompt is too long", overflow: true };

test("a branch that is refused as too long is summarised in smaller parts", () =>
  everyRow([
    [1, [8, 3, 3, 2]],
    [2, [8, 3, 1, 1, 1, 1, 1, 1, 1, 1]],
  ])(async ([times, counts]) => {
    const { session, id } = history("U A | U:1000 A:1000 U:1000 A:1000 U:1000 A:1000 U:1000 A:1000");
    const summariser = scriptedSummariser(Array(times).fill(tooLong));
    const move = { session, targetId: id("a1"), settings, summariser, summarise: true };
    expect((await navigateTree(move)).status).toBe("moved");
    const asked = summariser.requests;
    expect(asked.map(({ messages }) => messages.length)).toEqual(counts);
    expect(asked.slice(times + 1).every(({ previousSummary }) => previousSummary !== undefined)).toBe(true);
    expect(asked.slice(times).flatMap(({ messages }) => messages)).toEqual(asked[0]!.messages);
    expect(session.projection().items.at(-1)?.message.role).toBe("branchSummary");
  }));

test("a branch of one message that is larger than a request is summarised without its middle", async () => {
  const { session, id } = history("U A | U:4000");
  const summariser = scriptedSummariser([], { contextWindow: 4_000, maxOutputTokens: 1_000 });
  const move = { session, targetId: id("a1"), settings, summariser, summarise: true };
  expect((await navigateTree(move)).status).toBe("moved");
  expect(summariser.requests[0]?.prompt.user).toMatch(/\[… \d+ more characters …\]/);
});

test("a branch whose smallest part is too long cancels the navigation", async () => {
  for (const notation of ["U A | U:1000 A:1000 U:1000 A:1000 U:1000 A:1000 U:1000 A:1000", "U A | A:1000"]) {
    const { session, id } = history(notation);
    const before = JSON.stringify(session.entries());
    const summariser = scriptedSummariser(Array(20).fill(tooLong));
    const move = navigateTree({ session, targetId: id("a1"), settings, summariser, summarise: true });
    await expect(move).rejects.toThrow(expect.objectContaining({ code: "branch_summary_failed" }));
    expect(summariser.requests.length).toBeLessThan(12);
    expect(JSON.stringify(session.entries())).toBe(before);
  }
});

test("an abort during the summary is a cancelled navigation", async () => {
  const { session, id } = history("U A | U A");
  const abort = new AbortController();
  const summariser = scriptedSummariser();
  summariser.summarise = () => {
    abort.abort();
    return new Promise(() => {});
  };
  const before = JSON.stringify(session.entries());
  const options = {
    session,
    targetId: id("a1"),
    settings,
    summariser,
    summarise: true,
    signal: abort.signal,
  };
  expect((await navigateTree(options)).status).toBe("cancelled");
  expect(JSON.stringify(session.entries())).toBe(before);
});

test.each([
  ["a failure", () => ({ stopReason: "error" as const, errorMessage: "down" }), "branch_summary_failed"],
  ["an abort", (abort: AbortController) => abort.abort(), "cancelled"],
])("%s in the second part of a branch asks for no third part and changes nothing", async (_, end, ending) => {
  const { session, id } = history("U A | U:900 A:900 U:900 A:900 U:900 A:900");
  const before = JSON.stringify([session.entries(), session.leafId]);
  const abort = new AbortController();
  const summariser = scriptedSummariser([{}, () => end(abort) ?? {}], { contextWindow: 4_000 });
  const move = { session, targetId: id("a1"), settings, summariser, summarise: true, signal: abort.signal };
  const moved = navigateTree(move).catch(({ code }: { code: string }) => ({ status: code }));
  expect((await moved).status).toBe(ending);
  expect(summariser.requests).toHaveLength(2);
  expect(JSON.stringify([session.entries(), session.leafId])).toBe(before);
});

test("an unknown target is refused", async () => {
  const { session } = history("U A");
  const move = navigateTree({ session, targetId: "nowhere", settings });
  await expect(move).rejects.toThrow(expect.objectContaining({ code: "tree_target_unknown" }));
});
