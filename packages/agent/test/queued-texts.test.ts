import { expect, test } from "vitest";
import { InputQueue } from "../src/run/queue.ts";
import { calls, done, filler, recordEvents, scriptedAgent, sentText, tokens } from "./scripted-agent.ts";

test("an agent that would stop is steered first; one that begins takes what has waited longest", () => {
  const queue = new InputQueue();
  const add = () => {
    for (const [text, behavior] of [
      ["later", "followUp"],
      ["now", "steer"],
    ] as const)
      queue.add({ text, behavior, source: "print" });
  };
  add();
  expect(queue.next("end")).toMatchObject({ text: "now" });
  queue.clear();
  add();
  expect(queue.next("start")).toMatchObject({ text: "later" });
});

test("a follow-up that comes while tools run waits until the agent would stop", async () => {
  const run = scriptedAgent({ turn: [calls(), done, done] });
  run.lifecycle.on("tool_execution_start", () => {
    void run.agent.prompt("later", { behavior: "followUp" });
  });
  await run.agent.prompt("go");
  expect(run.turns.map((turn) => sentText(turn).includes("later"))).toEqual([false, false, true]);
});

test.each([
  ["one-at-a-time", [[], ["one"], ["one", "two"], ["one", "two", "three"]]],
  ["all", [[], ["one", "two"], ["one", "two", "three"]]],
] as const)("waiting texts are in the state, and %s in the requests", async (delivery, requests) => {
  const run = scriptedAgent({ turn: [calls(), ...requests.slice(1).map(() => done)] });
  run.agent.setQueueDelivery("steer", delivery);
  const waiting: string[][] = [];
  run.lifecycle.on("tool_execution_start", () => {
    for (const text of ["one", "two"]) void run.agent.prompt(text, { behavior: "steer" });
    void run.agent.prompt("three", { behavior: "followUp" });
    const { steering, followUps } = run.agent.state;
    waiting.push(...[steering, followUps].map((texts) => texts.map(({ text }) => text)));
  });
  await run.agent.prompt("go");
  expect(waiting).toEqual([["one", "two"], ["three"]]);
  const sent = run.turns.map((turn) =>
    ["one", "two", "three"].filter((text) => sentText(turn).includes(text)),
  );
  expect(sent).toEqual(requests);
});

test("an abort while extensions look at a text hands it back, and nothing of it is stored", async () => {
  const run = scriptedAgent({ turn: [] });
  const names = recordEvents(run.lifecycle);
  run.lifecycle.on("input", () => void run.agent.abort());
  const result = await run.agent.prompt("go");
  expect(result).toMatchObject({ status: "aborted", unsent: [{ text: "go" }] });
  expect(run.session.path()).toEqual([]);
  expect(names).toEqual(["input"]);
});

test("an abort while extensions look at a queued text hands all that is queued back in its order", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  run.lifecycle.on("tool_execution_start", () => {
    for (const text of ["one", "two"]) void run.agent.prompt(text, { behavior: "steer" });
  });
  run.lifecycle.on("input", ({ text }) => {
    if (text === "one") void run.agent.abort();
  });
  const { status, unsent } = await run.agent.prompt("go");
  expect([status, unsent?.map(({ text }) => text)]).toEqual(["aborted", ["one", "two"]]);
});

test("behind a text that an extension took, the queued one still gets its run", async () => {
  const run = scriptedAgent({ turn: [done] });
  run.lifecycle.on("input", ({ text }) => {
    if (text !== "/mine") return undefined;
    void run.agent.prompt("the real thing", { behavior: "followUp" });
    return { action: "handled" };
  });
  expect((await run.agent.prompt("/mine")).status).toBe("done");
  expect(sentText(run.turns[0]!)).toBe("the real thing");
});

test("a follow-up is a new task: what failed in the one before is tried again", async () => {
  const run = scriptedAgent({
    turn: (_call, count) =>
      count <= 3
        ? done
        : count === 4
          ? calls({ tokens: 100 }, tokens(16_000))
          : { ...done, ...tokens(16_000) },
    summary: () => ({ text: "" }),
    settings: { compaction: { summarizer: { fallback: "never" } } },
  });
  for (const size of [4_000, 4_000, 4_000]) await run.agent.prompt(filler(size));
  let attempts = 0;
  run.lifecycle.on("auto_compaction_start", () => void attempts++);
  const off = run.lifecycle.on("tool_execution_start", () => {
    off();
    void run.agent.prompt("and this", { behavior: "followUp" });
  });
  await run.agent.prompt("go");
  expect(attempts).toBe(2);
});

test("the threshold is looked at before a follow-up as before a prompt", async () => {
  const run = scriptedAgent({
    turn: (_call, count) => (count === 2 ? { ...done, ...tokens(15_500) } : done),
    policy: { sites: ["beforePrompt"] },
  });
  await run.agent.prompt(filler(8_000));
  const sizes: number[] = [];
  run.lifecycle.on("session_compact", () => void sizes.push(run.turns.length));
  const off = run.lifecycle.on("message_end", () => {
    off();
    void run.agent.prompt("and this", { behavior: "followUp" });
  });
  await run.agent.prompt(filler(6_000));
  expect(sizes).toEqual([2]);
});

test.each([
  ["betweenTools", [2]],
  ["beforePrompt", []],
] as const)(
  "with the site %s alone, a task above the threshold is compacted after requests %j",
  async (site, after) => {
    const run = scriptedAgent({
      turn: [done, { ...calls(), ...tokens(15_500) }, done],
      policy: { sites: [site] },
    });
    await run.agent.prompt(filler(8_000));
    const requests: number[] = [];
    run.lifecycle.on("session_compact", () => void requests.push(run.turns.length));
    await run.agent.prompt(filler(6_000));
    expect(requests).toEqual(after);
  },
);
