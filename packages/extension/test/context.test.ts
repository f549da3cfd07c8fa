import { createSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import type { SessionControl } from "../src/host/index.ts";
import type { ExtensionCommandContext } from "../src/index.ts";
import { compaction, contextStage, long } from "./context-stage.ts";

test("a context shows the current session, model, thinking and usage", async () => {
  const { session, ctx } = await contextStage({ answers: ["Good day."] });
  expect(ctx).toMatchObject({ mode: "print", hasUI: false, cwd: session.cwd, signal: undefined });
  expect(ctx.model).toMatchObject({ provider: "scripted", id: "test" });
  expect([ctx.isIdle(), ctx.hasPendingMessages(), ctx.isProjectTrusted()]).toEqual([true, false, true]);
  expect(ctx.sessionManager.getBranch().filter(({ type }) => type === "message")).toEqual([]);
  const before = ctx.getContextUsage()!;
  expect(before).toMatchObject({ contextWindow: 100_000 });
  await session.prompt("Hello ".repeat(1_000));
  expect(ctx.sessionManager.buildSessionContext().messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
  ]);
  expect(ctx.getContextUsage()!.tokens).toBeGreaterThan(before.tokens!);
  expect(ctx.getContextUsage()!.percent).toBeCloseTo(ctx.getContextUsage()!.tokens! / 1_000, 6);
  await session.agent.setThinking("high");
  expect(ctx.thinkingLevel).toBe("high");
  expect(ctx.getSystemPrompt()).toContain("You are Bonsai");
  await session.close();
});

test("in a run, a handler's context is busy, has the event's signal, and can stop the run", async () => {
  const seen: unknown[] = [];
  const { session } = await contextStage({
    answers: ["Never said.", "Nor this."],
    extensions(bonsai) {
      bonsai.on("before_provider_request", (_event, ctx) => {
        seen.push(ctx.isIdle(), ctx.signal?.aborted);
        ctx.abort();
      });
    },
  });
  const { status } = await session.prompt("Hello");
  expect(seen).toEqual([false, false]);
  expect(status).toBe("aborted");
  await session.close();
});

test("without an agent, a context is idle, with the host's model, an estimate and no prompt", async () => {
  const { session, ctx } = await contextStage({ withAgent: false, history: long });
  expect(ctx.model).toMatchObject({ id: "test" });
  expect([ctx.isIdle(), ctx.hasPendingMessages(), ctx.thinkingLevel, ctx.getSystemPrompt()]).toEqual([
    true,
    false,
    undefined,
    "",
  ]);
  expect(ctx.getContextUsage()!.percent).toBeGreaterThan(20);
  ctx.abort();
  await ctx.waitForIdle();
  const { calls, done } = compaction(ctx);
  await done;
  expect(calls).toMatchObject(["returned", { code: "extension_needs_agent" }]);
  await session.close();
});

test("without a user, questions are answered at once and messages become notices", async () => {
  const { session, ctx } = await contextStage();
  const { ui } = ctx;
  expect(
    await Promise.all([ui.select("?", ["a"]), ui.confirm("?", ""), ui.input("?"), ui.editor("?")]),
  ).toEqual([undefined, false, undefined, undefined]);
  ui.notify("for you");
  ui.notify("beware", "error");
  ui.setStatus("a", "b");
  ui.setWidget("a", ["b"]);
  ui.setTitle("t");
  ui.setEditorText("x");
  expect(ui.getEditorText()).toBe("");
  expect(session.notices.map(({ level, message }) => [level, message.replace(/^.*: /, "")])).toEqual([
    ["info", "for you"],
    ["warning", "beware"],
  ]);
  await session.close();
});

test("a command switches sessions; withSession gets a context, but not after a cancellation", async () => {
  const moves: unknown[] = [];
  const moved = async (...move: unknown[]) => moves.push(move) > 0;
  const control: SessionControl = {
    newSession: (options) => moved("new", options),
    fork: (id, options) => moved("fork", id, options),
    switchSession: (path) => moved("switch", path),
    navigateTree: async (id, options) => (await moved("tree", id, options)) && false,
    mergeBranch: async (id, options) => ({
      cancelled: !(await moved("merge", id, options)),
      summaryEntryId: "s1",
    }),
  };
  const { session, ctx } = await contextStage({ control });
  const followed: ExtensionCommandContext[] = [];
  const withSession = async (next: ExtensionCommandContext) => void followed.push(next);
  expect(await ctx.newSession({ parentSession: "/p", withSession })).toEqual({ cancelled: false });
  expect(await ctx.fork("e1", { withSession })).toEqual({ cancelled: false });
  expect(await ctx.fork("e2", { position: "at" })).toEqual({ cancelled: false });
  expect(await ctx.switchSession("/s", { withSession })).toEqual({ cancelled: false });
  expect(await ctx.navigateTree("e3", { summarize: true })).toEqual({ cancelled: true });
  expect(await ctx.mergeBranch("e4", { label: "tried" })).toEqual({ cancelled: false, summaryEntryId: "s1" });
  expect(moves).toEqual([
    ["new", { parentSession: "/p" }],
    ["fork", "e1", { position: "before" }],
    ["fork", "e2", { position: "at" }],
    ["switch", "/s"],
    ["tree", "e3", { summarize: true }],
    ["merge", "e4", { label: "tried" }],
  ]);
  expect(followed).toHaveLength(3);
  expect(followed[0]?.sessionManager.getSessionId()).toBe(session.session.id);
  await session.close();
});

test("withSession is not called after the user or an extension cancelled", async () => {
  const refused = async () => false;
  const control = {
    newSession: refused,
    fork: refused,
    switchSession: refused,
    navigateTree: refused,
    mergeBranch: async () => ({ cancelled: true }),
  };
  const { session, ctx } = await contextStage({ control });
  const followed: unknown[] = [];
  const withSession = async (next: ExtensionCommandContext) => void followed.push(next);
  expect(await ctx.newSession({ withSession })).toEqual({ cancelled: true });
  expect(await ctx.fork("e1", { withSession })).toEqual({ cancelled: true });
  expect(await ctx.switchSession("/s", { withSession })).toEqual({ cancelled: true });
  expect(await ctx.mergeBranch("e1")).toEqual({ cancelled: true });
  expect(followed).toEqual([]);
  await session.close();
});

test("switching sessions fails in a mode without it", async () => {
  const { session, ctx } = await contextStage();
  await expect(ctx.newSession()).rejects.toMatchObject({ code: "extension_session_fixed" });
  await expect(ctx.navigateTree("x")).rejects.toMatchObject({ code: "extension_session_fixed" });
  await session.close();
});

test("a summariser for any model asks that model, in the session's name", async () => {
  const { session, ctx } = await contextStage({
    otherModels: [{ id: "cheap", name: "Cheap", contextWindow: 9_000 }],
    summaries: ["## Goal\nDoors."],
  });
  const cheap = ctx.modelRegistry.find("scripted", "cheap")!;
  const summariser = ctx.summariserFor(cheap);
  expect(summariser).toMatchObject({ name: "scripted/cheap", contextWindow: 9_000 });
  const signal = new AbortController().signal;
  const prompt = { system: "S", user: "U" };
  const answer = await summariser.summarise({
    kind: "history",
    messages: [],
    prompt,
    maxSummaryTokens: 500,
    signal,
  });
  expect(answer).toMatchObject({ text: "## Goal\nDoors.", stopReason: "stop" });
  expect(session.requests.at(-1)).toMatchObject({
    purpose: "summary",
    model: { id: "cheap" },
    cacheKey: session.session.id,
  });
  await session.close();
});

test("a context follows the host's session", async () => {
  const other = createSession({ cwd: "/other" });
  const { session, ctx } = await contextStage({ session: other });
  expect(ctx.sessionManager.getSessionId()).toBe(other.id);
  await session.close();
});
