import { expect, test } from "vitest";
import {
  actor,
  calls,
  done,
  filledAgent,
  filler,
  overflow,
  roles,
  type ScriptedAgentOptions,
  scriptedAgent,
  sentText,
  summary,
  tokens,
} from "./scripted-agent.ts";

const overloaded = { error: { status: 529, message: "Overloaded" } };

const huge = { ...actor, contextWindow: 200_000 };

const filled = (options: ScriptedAgentOptions, turns = 2) => filledAgent(options, Array(turns).fill(4_000));

const compactions = ({ session }: ReturnType<typeof scriptedAgent>) =>
  session.path().filter(({ type }) => type === "compaction").length;

test("usage older than the latest compaction is not trusted: the shown figure is marked as an estimate", async () => {
  const { agent } = await filled({ turn: [done] }, 3);
  expect(agent.state.context).toMatchObject({ isEstimate: false, windowTokens: 20_000 });
  expect((await agent.compact()).status).toBe("compacted");
  const { tokens: after, isEstimate } = agent.state.context;
  expect(isEstimate).toBe(true);
  expect(after).toBeLessThan(10_000);
  await agent.prompt("go on");
  expect(agent.state.context.isEstimate).toBe(false);
});

/** A summary that fails is no compaction then. */
const noDigest = { compaction: { summarizer: { fallback: "never" }, background: false } };

test("after a 190k usage in a 200k window, 529 errors do not hide that the threshold is passed", async () => {
  const run = scriptedAgent({
    model: huge,
    settings: noDigest,
    turn: (_call, count) => {
      if (count <= 2) return done;
      if (count === 3) return calls({ tokens: 10 }, tokens(190_000));
      return count <= 6 ? overloaded : done;
    },
    summary: (_call, count) => (count === 1 ? overloaded : summary),
  });
  for (const size of [90_000, 80_000]) await run.agent.prompt(filler(size));
  expect((await run.agent.prompt("go")).status).toBe("failed");
  expect(compactions(run)).toBe(0);
  expect((await run.agent.prompt("again")).status).toBe("failed");
  expect(compactions(run)).toBe(1);
  const entry = run.session.path().find(({ type }) => type === "compaction");
  expect(entry).toMatchObject({ tokensBefore: expect.closeTo(190_000, -3) });
});

test.each([
  [15_000, 0],
  [15_001, 1],
])(
  "14: with a threshold of 15,000, an answer that used %i tokens makes %i compactions",
  async (used, made) => {
    const run = await filled({ turn: [{ text: "done", ...tokens(used) }] });
    await run.agent.prompt(filler(4_000));
    expect(compactions(run)).toBe(made);
  },
);

test("an overflow of another model than the one in use compacts nothing; the one in use is asked, without the failure", async () => {
  const run = await filled({ turn: [overflow, done] });
  run.lifecycle.on("before_provider_request", () => void run.agent.setModel({ ...actor, id: "another" }));
  const result = await run.agent.prompt("go");
  expect(result).toMatchObject({ status: "done", answer: { model: "another" } });
  expect(run.turns.map(({ model }) => model.id)).toEqual(["actor", "actor", "actor", "another"]);
  expect(roles(run.turns[3]!.messages)).toEqual(roles(run.turns[2]!.messages));
  expect(compactions(run)).toBe(0);
});

test("the model in use is recovered as ever when it overflows too", async () => {
  const run = await filled({ turn: [overflow, overflow, done] });
  run.lifecycle.on("before_provider_request", () => void run.agent.setModel({ ...actor, id: "another" }));
  expect(await run.agent.prompt("go")).toMatchObject({ status: "done", answer: { model: "another" } });
  expect(compactions(run)).toBe(1);
});

test("the second overflow ends the run if the model changes at every request", async () => {
  const run = await filled({ turn: () => overflow });
  let count = 0;
  run.lifecycle.on("before_provider_request", () => void run.agent.setModel({ ...actor, id: `m${count++}` }));
  expect(await run.agent.prompt("go")).toMatchObject({ status: "failed", error: { code: "model_failed" } });
  expect(run.turns).toHaveLength(4);
  expect(compactions(run)).toBe(0);
});

test("a threshold compaction that fails in the middle of a task: one warning, the task goes on, no further attempt", async () => {
  const run = await filled({
    turn: [calls({ tokens: 7_500 }), calls({ tokens: 100 }), calls({ tokens: 100 }), done],
    summary: () => ({ text: "" }),
    settings: noDigest,
  });
  let attempts = 0;
  run.lifecycle.on("auto_compaction_start", () => void attempts++);
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(run.turns).toHaveLength(6);
  expect(attempts).toBe(1);
  expect(run.notices).toMatchObject([{ level: "warning", code: "compaction_failed" }]);
});

test("nothing to compact is not a failure", async () => {
  const settings = { compaction: { keepRecentTokens: 18_000, threshold: { reserveTokens: 19_000 } } };
  const policy = { scaleBudgets: false };
  const run = await filled({ turn: [calls(), calls(), done], settings, policy });
  let attempts = 0;
  run.lifecycle.on("auto_compaction_start", () => void attempts++);
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(attempts).toBeGreaterThan(1);
  expect(run.notices).toEqual([]);
  expect(compactions(run)).toBe(0);
});

test("without a threshold an overflow still recovers; without both it is the plain error", async () => {
  const only = await filled({ turn: [overflow, done], settings: { compaction: { enabled: false } } });
  expect((await only.agent.prompt("go")).status).toBe("done");
  expect(compactions(only)).toBe(1);

  const neither = await filled({
    turn: [overflow],
    settings: { compaction: { enabled: false, onOverflow: false } },
  });
  const { status, error } = await neither.agent.prompt("go");
  expect({ status, code: error?.code }).toEqual({ status: "failed", code: "model_failed" });
  expect(error?.message).toContain("prompt is too long");
  expect(compactions(neither)).toBe(0);
});

test("between tools the task goes on, and the next request holds the latest request word for word", async () => {
  const request = "Rename every Tree to Bonsai, but never touch fixtures/old.ts.";
  const run = await filled({ turn: [calls({ tokens: 3_000 }), calls({ tokens: 5_000 }), done] });
  expect((await run.agent.prompt(request)).status).toBe("done");
  expect(compactions(run)).toBe(1);
  expect(sentText(run.turns.at(-1)!)).toContain(request);
});

test("two compactions in one task: the request is still there word for word, though it is far back", async () => {
  const request = "Count the leaves of fixtures/oak.ts; do not prune.";
  const play = (_call: unknown, count: number) => (count <= 12 ? calls({ tokens: 3_000 }) : done);
  const run = await filled({ turn: play });
  expect((await run.agent.prompt(request)).status).toBe("done");
  expect(compactions(run)).toBeGreaterThanOrEqual(2);
  for (const turn of run.turns.slice(2)) expect(sentText(turn)).toContain(request);
  expect(roles(run.turns.at(-1)!.messages).filter((role) => role === "user")).toEqual([]);
});

test("after a steer it is the steering text that every request holds", async () => {
  const steer = "Stop counting; water fixtures/oak.ts instead.";
  const play = (_call: unknown, count: number) => (count <= 14 ? calls({ tokens: 3_000 }) : done);
  const run = await filled({ turn: play });
  const off = run.lifecycle.on("tool_execution_start", () => {
    off();
    void run.agent.prompt(steer, { behavior: "steer" });
  });
  expect((await run.agent.prompt("Count the leaves.")).status).toBe("done");
  expect(compactions(run)).toBeGreaterThanOrEqual(2);
  for (const turn of run.turns.slice(3)) expect(sentText(turn)).toContain(steer);
});

test("the breaker says that it opened, and why", async () => {
  const settings = { compaction: { keepRecentTokens: 0, mask: { enabled: false } } };
  const run = scriptedAgent({
    settings,
    turn: (_call, count) => (count > 1 && count <= 9 ? calls({ tokens: 1_500 }, tokens(19_000)) : done),
  });
  await run.agent.prompt(filler(1_000));
  const result = await run.agent.prompt("go");
  expect(result.status).toBe("done");
  expect(run.notices.map(({ code }) => code)).toEqual(["compaction_paused"]);
  expect(run.notices[0]?.message).toContain("did not keep the context small");
  expect(run.notices[0]?.message).toContain("The system prompt and the tools alone take ~");
});

test.each([
  [true, "more"],
  [false, "as many"],
])("after a pause, with another model %s, there are %s compactions", async (isChanged, expected) => {
  const settings = { compaction: { keepRecentTokens: 0, mask: { enabled: false } } };
  const run = scriptedAgent({
    settings,
    turn: (_call, count) => (count > 1 && count <= 13 ? calls({ tokens: 1_500 }, tokens(19_000)) : done),
  });
  await run.agent.prompt(filler(1_000));
  let before: number | undefined;
  run.lifecycle.on("turn_end", () => {
    if (before !== undefined || run.notices.every(({ code }) => code !== "compaction_paused")) return;
    before = compactions(run);
    if (isChanged) void run.agent.setModel({ ...actor, id: "another" });
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(before).toBeGreaterThan(0);
  expect(compactions(run) > before! ? "more" : "as many").toBe(expected);
});

test.each([401, 403])("after a refusal with %i, what to do is about the key", async (status) => {
  const { agent } = scriptedAgent({ turn: [{ error: { status, message: "Incorrect API key provided" } }] });
  const { error } = await agent.prompt("go");
  expect(error).toMatchObject({ code: "model_failed", hint: expect.stringContaining("/login") });
});
