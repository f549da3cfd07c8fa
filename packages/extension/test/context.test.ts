import { createSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { CompactOptions, SessionControl } from "../src/host/index.ts";
import type { ExtensionCommandContext, ExtensionContext } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";

type Options = NonNullable<Parameters<typeof openTestSession>[0]>;

/** A session whose extension hands out the context of the command `/ctx`. */
async function stage(options: Options = {}) {
  let ctx: ExtensionCommandContext | undefined;
  const session = await openTestSession({
    ...options,
    extensions: [
      function probe(bonsai) {
        bonsai.registerCommand("ctx", {
          handler(_args, context) {
            ctx = context;
          },
        });
      },
      ...[options.extensions ?? []].flat(),
    ],
  });
  await session.command("/ctx");
  return { session, ctx: ctx! };
}

/** What becomes of `ctx.compact`: which callback, with what. */
function compaction(ctx: ExtensionContext, options: CompactOptions = {}) {
  const calls: unknown[] = [];
  const done = new Promise<void>((resolve) => {
    ctx.compact({
      ...options,
      onComplete: (result) => {
        calls.push(result);
        resolve();
      },
      onError: (error) => {
        calls.push(error);
        resolve();
      },
    });
    calls.push("returned");
  });
  return { calls, done };
}

const long = history("U:15000 A:15000 | U:100 A:100")
  .session.entries()
  .flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
const keep = { compaction: { keepRecentTokens: 200 } };

test("a context is of now: session, model, thinking, usage", async () => {
  const { session, ctx } = await stage({ answers: ["Good day."] });
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
  const { session } = await stage({
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

test("without an agent, as in session commands: idle, the host's model, an estimate, no prompt", async () => {
  const { session, ctx } = await stage({ withAgent: false, history: long });
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

test("compact, when idle: at once, with the user's focus and the entry that was written", async () => {
  const { session, ctx } = await stage({ history: long, settings: keep });
  const { calls, done } = compaction(ctx, { customInstructions: "the door" });
  await done;
  const compactionEntry = session.session.projection().compaction;
  expect(compactionEntry).toBeDefined();
  expect(calls).toEqual([
    "returned",
    { outcome: expect.objectContaining({ status: "compacted" }), compactionEntry },
  ]);
  expect(JSON.stringify(session.requests.map(({ messages }) => messages))).toContain("the door");
  await session.close();
});

test("compact, in a run: at the next place where the run can, and the run goes on", async () => {
  const seen: unknown[] = [];
  const { session } = await stage({
    history: long,
    settings: keep,
    answers: [{ calls: [{ name: "ls", arguments: {} }] }, "Done."],
    extensions(bonsai) {
      bonsai.on("tool_call", (_event, ctx) => {
        ctx.compact({
          onComplete: ({ outcome }) => void seen.push(outcome.status),
          onError: (error) => void seen.push(error),
        });
      });
    },
  });
  const { status, answer } = await session.prompt("Look.");
  expect(status).toBe("done");
  expect(answer?.content).toMatchObject([{ text: "Done." }]);
  expect(seen).toEqual(["compacted"]);
  expect(session.session.projection().compaction).toBeDefined();
  await session.close();
});

test("compact: nothing to do, and a summary that fails, are errors; exactly one of the two is called", async () => {
  const empty = await stage();
  const nothing = compaction(empty.ctx);
  await nothing.done;
  expect(nothing.calls).toMatchObject(["returned", { code: "extension_not_compacted" }]);
  await empty.session.close();
  const failing = await stage({
    history: long,
    settings: { compaction: { ...keep.compaction, summarizer: { fallback: "never" } } },
    summaries: [{ error: { message: "no more" } }],
  });
  const failed = compaction(failing.ctx);
  await failed.done;
  expect(failed.calls).toMatchObject([
    "returned",
    { code: "extension_not_compacted", message: expect.stringContaining("no more") },
  ]);
  await failing.session.agent.close();
  const closed = compaction(failing.ctx);
  await closed.done;
  expect(closed.calls).toMatchObject(["returned", { code: "agent_closed" }]);
  await failing.session.close();
});

test("compact asks no model that has just failed: the digest stands in, also the first time", async () => {
  const purposes: string[] = [];
  const { session, ctx } = await stage({
    history: long,
    settings: keep,
    summaries: () => {
      purposes.push("summary");
      return { error: { message: "no more" } };
    },
  });
  for (let time = 0; time < 2; time += 1) {
    const asked = compaction(ctx);
    await asked.done;
    expect(asked.calls).toMatchObject(["returned", { outcome: { status: "compacted" } }]);
    await session.prompt("word ".repeat(20_000));
  }
  expect(purposes).toEqual(["summary"]);
  await session.close();
});

test("a callback that throws, at once or later, is reported, and the other is not called for it", async () => {
  const { session, ctx } = await stage({ history: long, settings: keep });
  const errors: unknown[] = [];
  ctx.compact({
    onComplete: async () => {
      throw new Error("broken");
    },
    onError: (error) => void errors.push(error),
  });
  await expect.poll(() => session.notices.map(({ code }) => code)).toContain("extension_callback_failed");
  expect(session.notices.at(-1)?.message).toMatch(/probe.*broken/);
  expect(errors).toEqual([]);
  // Nobody has to listen.
  ctx.compact();
  await ctx.waitForIdle();
  await session.close();
});

test("where nobody can be asked, questions are answered at once and messages become notices", async () => {
  const { session, ctx } = await stage();
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

test("a command goes to other places; what follows there gets a context, and what was cancelled does not", async () => {
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
  const { session, ctx } = await stage({ control });
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

test("nothing follows where the user, or an extension, did not let it happen", async () => {
  const refused = async () => false;
  const control = {
    newSession: refused,
    fork: refused,
    switchSession: refused,
    navigateTree: refused,
    mergeBranch: async () => ({ cancelled: true }),
  };
  const { session, ctx } = await stage({ control });
  const followed: unknown[] = [];
  const withSession = async (next: ExtensionCommandContext) => void followed.push(next);
  expect(await ctx.newSession({ withSession })).toEqual({ cancelled: true });
  expect(await ctx.fork("e1", { withSession })).toEqual({ cancelled: true });
  expect(await ctx.switchSession("/s", { withSession })).toEqual({ cancelled: true });
  expect(await ctx.mergeBranch("e1")).toEqual({ cancelled: true });
  expect(followed).toEqual([]);
  await session.close();
});

test("where the session is fixed, going elsewhere is a clear error", async () => {
  const { session, ctx } = await stage();
  await expect(ctx.newSession()).rejects.toMatchObject({ code: "extension_session_fixed" });
  await expect(ctx.navigateTree("x")).rejects.toMatchObject({ code: "extension_session_fixed" });
  await session.close();
});

test("a summariser for any model asks that model, in the session's name", async () => {
  const { session, ctx } = await stage({
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

test("a context goes with the host from session to session", async () => {
  const other = createSession({ cwd: "/other" });
  const { session, ctx } = await stage({ session: other });
  expect(ctx.sessionManager.getSessionId()).toBe(other.id);
  await session.close();
});
