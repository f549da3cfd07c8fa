import { chars4Estimator, type Message } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  estimateContextTokens,
  findCutPoint,
  findTurnStartIndex,
  prepareCompaction,
} from "../src/modules/agent-core.ts";
import { createAssistantMessageEventStream } from "../src/modules/ai.ts";
import {
  collectEntriesForBranchSummary,
  compact,
  generateBranchSummary,
  generateSummary,
  getLastAssistantUsage,
  prepareBranchEntries,
  SessionManager,
  sessionEntryToContextMessages,
} from "../src/modules/coding-agent.ts";

const settings = (keepRecentTokens: number) => ({ enabled: true, reserveTokens: 16_384, keepRecentTokens });
const tokensOf = (entries: readonly Entry[]) =>
  entries
    .flatMap(sessionEntryToContextMessages)
    .reduce((sum, message) => sum + chars4Estimator.message(message), 0);

test.each([
  ["U A U A U A", 1, "a3 <u3"],
  ["U A U A U A", 1_000, "u1"],
  ["U A U A(t1) T1", 1, "a2 <u2"],
  ["U A U m A", 1, "m1 <u2"],
  ["U A m U", 1, "m1"],
  ["A", 1, "a1"],
])("the cut of %s that keeps %i", (notation, keep, expected) => {
  const { session, name } = history(notation);
  const entries = session.path();
  const { firstKeptEntryIndex, turnStartIndex, isSplitTurn } = findCutPoint(entries, 0, entries.length, keep);
  const turn = isSplitTurn ? ` <${name(entries[turnStartIndex]!.id)}` : "";
  expect(`${name(entries[firstKeptEntryIndex]!.id)}${turn}`).toBe(expected);
});

test("on any path, what is kept begins within the range and reaches the budget, or is all of it", () => {
  fc.assert(
    fc.property(treeArbitrary(), fc.nat(300), (notation, keep) => {
      const entries = history(notation).session.path();
      const { firstKeptEntryIndex: at, turnStartIndex } = findCutPoint(entries, 0, entries.length, keep);
      expect(at).toBeLessThanOrEqual(entries.length);
      expect(turnStartIndex).toBeLessThan(Math.max(at, 1));
      const first = entries[at];
      const isResult = first?.type === "message" && first.message.role === "toolResult";
      expect(isResult && at > 0).toBe(false);
    }),
  );
});

test("a prepared compaction has what Bonsai would summarise and keep, and can be summarised", async () => {
  const { session, id, name } = history("U A U A(t1) T1 A");
  const path = session.path();
  const prepared = prepareCompaction(path, settings(tokensOf(path.slice(-1))))!;
  expect(name(prepared.firstKeptEntryId)).toBe("a3");
  expect(prepared.messagesToSummarize).toHaveLength(2);
  expect(prepared.turnPrefixMessages).toHaveLength(3);
  expect(prepared).toMatchObject({ isSplitTurn: true, fileOps: { read: expect.any(Set) } });
  expect(prepared.tokensBefore).toBe(
    estimateContextTokens(session.projection().items.map(({ message }) => message)).tokens,
  );
  const byHand = {
    ...prepared,
    messagesToSummarize: [...prepared.messagesToSummarize],
    previousSummary: "Before",
  };
  const asked: unknown[] = [];
  const compaction = await compact(
    byHand as never,
    model,
    undefined,
    undefined,
    "the parser",
    undefined,
    undefined,
    answering(sections, asked),
  );
  expect(compaction).toMatchObject({
    firstKeptEntryId: id("a3"),
    summary: expect.stringContaining("## Goal"),
  });
  expect(JSON.stringify(asked)).toContain("the parser");
  expect(JSON.stringify(asked)).toContain("Before");
  expect(prepareCompaction(path, settings(1_000_000))).toBeUndefined();
  expect(prepareCompaction(history("U A U A C(u2)").session.path(), settings(1))).toBeUndefined();
  const again = prepareCompaction(history("U A U A C(u2) U A").session.path(), settings(1))!;
  expect(again.previousSummary).toBeTypeOf("string");
});

test("what a move of the leaf would leave", () => {
  const { session, id, name } = history("U A U A ^a1 U A");
  const manager = SessionManager.inMemory("/", {}, session.entries());
  const left = (from: string | null, to: string) => collectEntriesForBranchSummary(manager, from, to);
  const { entries, commonAncestorId } = left(id("a2"), id("a3"));
  expect([entries.map((entry) => name(entry.id)).join(" "), name(commonAncestorId!)]).toEqual([
    "u2 a2",
    "a1",
  ]);
  expect(left(null, id("a3"))).toEqual({ entries: [], commonAncestorId: null });
  expect(findTurnStartIndex(entries, 1, 0)).toBe(0);
  expect(findTurnStartIndex(entries, 1, 1)).toBe(-1);
});

test("the messages of a branch: the newest within the budget, without results of tools", () => {
  const { session } = history("U A(t1) T1 A U A");
  const path = session.path();
  expect(prepareBranchEntries(path).messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "assistant",
    "user",
    "assistant",
  ]);
  const { messages, totalTokens } = prepareBranchEntries(path, tokensOf(path.slice(-2)));
  expect(messages).toHaveLength(2);
  expect(totalTokens).toBe(tokensOf(path.slice(-2)));
  const summary = {
    type: "branch_summary",
    id: "s",
    parentId: null,
    timestamp: "",
    fromId: "x",
    summary: "S".repeat(400),
  };
  const files = {
    ...summary,
    details: { readFiles: ["a.ts"], modifiedFiles: ["b.ts", 3] },
  } as unknown as Entry;
  const [user] = history("U").session.path();
  const withSummary = prepareBranchEntries([files, user!], tokensOf([user!]) * 2);
  expect(withSummary.messages.map(({ role }) => role)).toEqual(["branchSummary", "user"]);
  expect(withSummary.fileOps).toMatchObject({ read: new Set(["a.ts"]), edited: new Set(["b.ts"]) });
});

const model = {
  provider: "scripted",
  id: "one",
  api: "anthropic-messages",
  contextWindow: 100_000,
  maxTokens: 1_024,
};
const headings = ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"];
const sections = headings.map((heading) => `## ${heading}\nParse it.`).join("\n\n");
const usage = (input: number) => ({
  input,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: input + 1,
  cost: { total: 0 },
});
const answered = (text: string, fields: object = {}) =>
  ({
    role: "assistant",
    content: [{ type: "text", text }],
    usage: usage(1),
    stopReason: "stop",
    timestamp: 0,
    ...fields,
  }) as unknown as Message;

/** A stream function as an extension may bring it. */
function answering(text: string, asked: unknown[] = [], fields: object = {}) {
  return (_model: object, context: object, options: object) => {
    asked.push(context, options);
    const stream = createAssistantMessageEventStream();
    const message = answered(text, fields);
    stream.push({ type: "done", reason: "stop", message } as never);
    return stream as never;
  };
}

test("a branch is summarised through a stream of the extension's own; what goes wrong is said in the result", async () => {
  const { session } = history("U A U A");
  const asked: unknown[] = [];
  const made = await generateBranchSummary(session.path(), { model, streamFn: answering(sections, asked) });
  expect(made).toMatchObject({
    summary: expect.stringContaining("Parse it."),
    readFiles: [],
    modifiedFiles: [],
  });
  expect(asked[1]).toMatchObject({ maxTokens: 1_024 });
  const cut = answering(sections, [], { stopReason: "length" });
  expect(await generateBranchSummary(session.path(), { model, streamFn: cut })).toMatchObject({
    error: expect.stringContaining("cut off"),
  });
  const call = { content: [{ type: "toolCall", id: "1", name: "read", arguments: {} }] };
  expect(
    await generateBranchSummary(session.path(), { model, streamFn: answering("", [], call) }),
  ).toMatchObject({ error: expect.stringContaining("called a tool") });
  const signal = AbortSignal.abort();
  expect(await generateBranchSummary(session.path(), { model, signal, streamFn: cut })).toEqual({
    aborted: true,
  });
  expect(await generateBranchSummary([], { model })).toMatchObject({ error: expect.any(String) });
  const { messages } = prepareBranchEntries(session.path());
  const text = await generateSummary(
    messages,
    model,
    0,
    "",
    {},
    undefined,
    "",
    "Earlier",
    "",
    answering(sections, asked),
  );
  expect(text).toContain("Parse it.");
});

test("a context's size is the latest usage that can be trusted, and what came after it", () => {
  const messages = [
    { role: "user", content: "12345678", timestamp: 0 },
    answered("", { usage: usage(99) }),
    answered("", { usage: usage(500), stopReason: "aborted" }),
    answered("", { usage: { ...usage(0), output: 0, totalTokens: 0 } }),
    { role: "user", content: "1234", timestamp: 0 },
  ] as Message[];
  expect(estimateContextTokens(messages)).toEqual({
    tokens: 101,
    usageTokens: 100,
    trailingTokens: 1,
    lastUsageIndex: 1,
  });
  expect(estimateContextTokens(messages.slice(0, 1))).toMatchObject({ tokens: 2, lastUsageIndex: null });
  const entries = messages.map(
    (message, at) => ({ type: "message", id: `${at}`, message }) as unknown as Entry,
  );
  expect(getLastAssistantUsage(entries)).toMatchObject({ input: 99 });
});
