import { setImmediate as soon } from "node:timers/promises";
import { emptyUsage } from "@bonsai-agent/messages";
import { createSession, type DraftAnswer, type DraftRequest, MemoryStore } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { filledAgent, filler, type ScriptedAgentOptions, summary } from "./scripted-agent.ts";

const usage = { ...emptyUsage(), input: 700, output: 70, totalTokens: 770 };
const draft = (more: Partial<DraftAnswer> = {}): DraftAnswer => ({
  text: summary.text!.replaceAll("as it stands", "by a worker"),
  ...{ stopReason: "stop", usage, ...more },
});

async function agentWithWorkers(
  answer: () => DraftAnswer | Promise<DraftAnswer> | undefined,
  { summaries = "workers", kind = "auto" } = {},
  options: Partial<ScriptedAgentOptions> & { sizes?: readonly number[] } = {},
) {
  const asked: DraftRequest[] = [];
  let cleared = 0;
  const drafts = {
    ask: async (request: DraftRequest) => {
      asked.push(request);
      return answer();
    },
    clear: () => {
      cleared += 1;
    },
  };
  const store = Object.assign(new MemoryStore(), { drafts });
  const settings = { sessions: { summaries }, compaction: { summarizer: { kind } } };
  const run = await filledAgent(
    { ...options, session: createSession({ cwd: "/project", store }), settings },
    options.sizes,
  );
  return { ...run, asked, cleared: () => cleared };
}

test("a worker's summary is committed with its cost, and its draft is cleared", async () => {
  const run = await agentWithWorkers(draft);
  expect((await run.agent.compact()).status).toBe("compacted");
  expect(run.asked).toEqual([
    {
      ...{ model: "scripted/actor", kind: "history", maxSummaryTokens: expect.any(Number) },
      prompt: { system: expect.any(String), user: expect.stringContaining("<conversation>") },
    },
  ]);
  expect(run.summaries).toEqual([]);
  const compaction = JSON.stringify(run.session.entries().find(({ type }) => type === "compaction"));
  expect(compaction).toContain("by a worker");
  expect(compaction.match(/"input":700\b/g)).toHaveLength(1);
  expect([run.cleared(), run.notices]).toEqual([1, []]);
});

test("without a worker, this host makes the summary, with one notice", async () => {
  const run = await agentWithWorkers(() => undefined);
  expect((await run.agent.compact()).status).toBe("compacted");
  await run.agent.prompt(filler(8_000));
  expect((await run.agent.compact()).status).toBe("compacted");
  expect(run.asked.length).toBeGreaterThan(1);
  expect(run.summaries).toHaveLength(run.asked.length);
  expect(run.notices.map(({ code }) => code)).toEqual(["summary_made_here"]);
});

test("after a worker's failure, this host makes the summary, and the session counts both costs", async () => {
  const run = await agentWithWorkers(
    () => draft({ stopReason: "length" }),
    {},
    {
      summary: () => ({ ...summary, usage: { input: 300, output: 30, cacheRead: 0, cacheWrite: 0 } }),
    },
  );
  expect((await run.agent.compact()).status).toBe("compacted");
  const compaction = JSON.stringify(run.session.entries().find(({ type }) => type === "compaction"));
  expect(compaction).not.toContain("by a worker");
  expect(compaction).toContain('"input":1000,');
});

test("workers are asked only for compactions that the settings give them", async () => {
  const here = await agentWithWorkers(draft, { summaries: "here" });
  const cached = await agentWithWorkers(draft, { kind: "cached" });
  for (const { agent, asked, summaries } of [here, cached]) {
    expect((await agent.compact()).status).toBe("compacted");
    expect([asked.length, summaries.length]).toEqual([0, 1]);
  }
});

test("a worker's summary of a branch that the owner left is discarded, and nothing else is lost", async () => {
  const answer = Promise.withResolvers<DraftAnswer>();
  const run = await agentWithWorkers(() => answer.promise, {}, { sizes: [7_000, 6_000] });
  const { agent, session } = run;
  const start = session.path()[1]!.id;
  await agent.prompt("And now?");
  const before = session.entries().map(({ id }) => id);
  expect(agent.isCompactingInBackground).toBe(true);
  await agent.navigate(start);
  answer.resolve(draft());
  await soon();
  await agent.prompt("Another way.");
  const entries = session.entries();
  expect(run.asked.length).toBeGreaterThan(0);
  expect(entries.filter(({ type }) => type === "compaction")).toEqual([]);
  expect(entries.slice(0, before.length).map(({ id }) => id)).toEqual(before);
  expect(
    entries.filter((entry) => entry.type === "usage" && entry.kind === "background_summary"),
  ).toHaveLength(1);
  expect([agent.isCompactingInBackground, run.cleared()]).toEqual([false, 1]);
});
