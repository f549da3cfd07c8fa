import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { type Stage, stage, told } from "./extension-stage.ts";
import { calls, done } from "./scripted-agent.ts";

const mask = { protectTokens: 3_500, minimumTokens: 1_000 };

/** Three old results, and the newest, which crosses the threshold. */
async function worked() {
  const turn = [1_000, 2_000, 3_000, 3_000].map((tokens) => calls({ tokens }));
  const run = await stage({ sizes: [7_000], turn: [...turn, done], settings: { compaction: { mask } } });
  const compacting = () => run.agent.prompt("go");
  const results = () =>
    run.session
      .path()
      .filter((entry) => entry.type === "message" && entry.message.role === "toolResult")
      .map(({ id }) => id);
  const masked = () =>
    run.session
      .projection()
      .items.filter(({ message }) => JSON.stringify(message).includes(MASK_PLACEHOLDER))
      .map(({ entryId }) => results().indexOf(entryId));
  return { ...run, compacting, results, masked };
}

test("the event has what is about to be masked, to the last field; then what was", async () => {
  const run = await worked();
  const [before, after] = [told(run, "session_before_mask"), told(run, "session_mask")];
  expect((await run.compacting()).status).toBe("done");
  const [{ signal, ...event }] = before as [Record<string, unknown>];
  const results = run
    .results()
    .slice(0, 3)
    .map((entryId) => ({ entryId, toolName: "echo", tokens: expect.any(Number) }));
  expect(event).toEqual({
    type: "session_before_mask",
    reason: "threshold",
    current: undefined,
    results,
    freedTokens: expect.any(Number),
  });
  expect(event.freedTokens).toBeGreaterThan(5_500);
  expect((event.results as { tokens: number }[]).map(({ tokens }) => Math.round(tokens / 1_000))).toEqual([
    1, 2, 3,
  ]);
  expect(signal).toBeInstanceOf(AbortSignal);
  const entries = run.session.entries().filter(({ type }) => type === "context_edit");
  expect(after).toEqual([
    { type: "session_mask", entries, freedTokens: expect.any(Number), reason: "threshold" },
  ]);
  expect(entries).toHaveLength(3);
  expect(run.masked()).toEqual([0, 1, 2]);
});

test("results that extensions keep add up and are not masked", async () => {
  const run = await worked();
  const [after, currents] = [told(run, "session_mask"), [] as unknown[]];
  run.lifecycle.on("session_before_mask", () => ({ keep: [run.results()[0]!] }), { source: "one" });
  run.lifecycle.on(
    "session_before_mask",
    ({ current }) => {
      currents.push(current);
      return { keep: ["nowhere"] };
    },
    { source: "two" },
  );
  await run.compacting();
  expect(currents).toEqual([{ keep: [run.results()[0]] }]);
  expect(run.masked()).toEqual([1, 2]);
  expect(after).toMatchObject([
    { entries: [{ targetId: run.results()[1] }, { targetId: run.results()[2] }] },
  ]);
  expect(run.handlerNotices).toEqual([]);
});

test("a cancel leaves every result, and the next rung is taken", async () => {
  const run = await worked();
  const [after, compacted] = [told(run, "session_mask"), told(run, "session_compact")];
  run.lifecycle.on("session_before_mask", () => ({ cancel: true }));
  const later = told(run, "session_before_mask");
  await run.compacting();
  expect([after, later]).toEqual([[], []]);
  expect(compacted).toHaveLength(1);
  expect(run.masked()).toEqual([]);
});

test("a failed handler is named, and the masks are written", async () => {
  for (const [name, handler, type] of [
    ["throws", () => Promise.reject(new Error("lost")), "handler_error"],
    ["answers rubbish", () => ({ keep: "all" }) as never, "invalid_result"],
  ] as const) {
    const run = await worked();
    run.lifecycle.on("session_before_mask", handler, { source: "keeper" });
    await run.compacting();
    expect
      .soft(run.handlerNotices, name)
      .toMatchObject([{ type, event: "session_before_mask", source: "keeper" }]);
    expect.soft(run.masked(), name).toEqual([0, 1, 2]);
  }
});

test("one who hangs is named after 30 s; who cancels the compaction gets out, and nothing is masked", async () => {
  const run = await worked();
  const hung = Promise.withResolvers<void>();
  run.lifecycle.on(
    "session_before_mask",
    () => {
      hung.resolve();
      return new Promise<never>(() => {});
    },
    { source: "sleeper" },
  );
  const going = run.compacting();
  await hung.promise;
  const before = run.bytes();
  run.timer.fire();
  expect(run.handlerNotices).toMatchObject([{ type: "slow_handler", source: "sleeper", elapsedMs: 30_000 }]);
  const ended = told(run as Stage, "auto_compaction_end");
  run.lifecycle.on("auto_compaction_end", () => expect(run.bytes()).toBe(before));
  run.agent.cancelCompaction();
  expect((await going).status).toBe("done");
  expect(ended).toMatchObject([{ aborted: true }]);
  expect(run.masked()).toEqual([]);
});
