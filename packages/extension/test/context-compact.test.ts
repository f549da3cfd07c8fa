import { expect, test } from "vitest";
import { compaction, contextStage, long } from "./context-stage.ts";

const keep = { compaction: { keepRecentTokens: 200 } };

test("an idle agent compacts at once, with the focus, and returns the entry", async () => {
  const { session, ctx } = await contextStage({ history: long, settings: keep });
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

test("a run compacts at its next possible place, and continues", async () => {
  const seen: unknown[] = [];
  const { session } = await contextStage({
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

test("nothing to do and a failed summary are errors; exactly one callback is called", async () => {
  const empty = await contextStage();
  const nothing = compaction(empty.ctx);
  await nothing.done;
  expect(nothing.calls).toMatchObject(["returned", { code: "extension_not_compacted" }]);
  await empty.session.close();
  const failing = await contextStage({
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

test("compact asks no model that has just failed: it uses the digest", async () => {
  const purposes: string[] = [];
  const { session, ctx } = await contextStage({
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

test("a callback that throws is reported, and the other one is not called", async () => {
  const { session, ctx } = await contextStage({ history: long, settings: keep });
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
  // Callbacks are optional.
  ctx.compact();
  await ctx.waitForIdle();
  await session.close();
});
