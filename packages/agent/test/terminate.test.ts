import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tools/tool-registry.ts";
import { echo, filler, scriptedAgent, summary } from "./scripted-agent.ts";

/** Gives the answer itself: the model need not be asked again. */
const finish = defineTool({
  name: "finish",
  description: "Gives the answer.",
  parameters: z.object({}),
  execute: async () => ({ content: [{ type: "text", text: "42" }], terminate: true }),
});
const calls = (...names: string[]) => ({ calls: names.map((name) => ({ name, arguments: {} })) });
const tools = [finish, echo];

test("no request follows where all results of an answer say so", async () => {
  const run = scriptedAgent({ tools, turn: [calls("finish", "finish"), { text: "Unasked." }] });
  const result = await run.agent.prompt("What is it?");
  expect(result).toMatchObject({ status: "done", answer: { stopReason: "toolUse" } });
  expect(run.turns).toHaveLength(1);
  const stored = run.session.path().flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "toolResult"]);
  expect(stored.at(-1)).not.toHaveProperty("terminate");
});

test("a request follows where one result of the answer wants it", async () => {
  const run = scriptedAgent({ tools, turn: [calls("finish", "echo"), { text: "Asked." }] });
  await run.agent.prompt("What is it?");
  expect(run.turns).toHaveLength(2);
});

test("the wish outlives handlers of the result, and the next prompt goes on behind it", async () => {
  const run = scriptedAgent({ tools, turn: [calls("finish"), { text: "Again." }] });
  run.lifecycle.on("tool_result", () => ({ content: [{ type: "text", text: "changed" }] }));
  await run.agent.prompt("What is it?");
  expect(run.turns).toHaveLength(1);
  await run.agent.prompt("And now?");
  expect(run.turns[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "user"]);
});

test("a text that waits is delivered all the same", async () => {
  const run = scriptedAgent({ tools, turn: [calls("finish"), { text: "Heard." }] });
  run.lifecycle.on("tool_result", () => {
    void run.agent.prompt("One more.", { behavior: "steer" });
  });
  await run.agent.prompt("What is it?");
  expect(run.turns).toHaveLength(2);
});

test.each([
  [true, 1],
  [undefined, 2],
])("a guard that blocks with terminate %j leaves %i requests", async (terminate, count) => {
  const run = scriptedAgent({ tools, turn: [calls("echo"), { text: "Then not." }] });
  run.lifecycle.on("tool_call", () => ({
    block: true,
    reason: "enough",
    ...(terminate === undefined ? {} : { terminate }),
  }));
  await run.agent.prompt("Go on.");
  expect(run.turns).toHaveLength(count);
});

test("the context is made small behind it where it has grown too large, and nothing is asked", async () => {
  const long = {
    ...finish,
    execute: async () => ({ content: [{ type: "text" as const, text: filler(8_000) }], terminate: true }),
  };
  const run = scriptedAgent({
    tools: [long, echo],
    turn: [calls("echo"), { text: filler(6_000) }, calls("finish"), { text: "Next." }],
    summary: () => summary,
  });
  await run.agent.prompt(filler(3_000));
  expect(await run.agent.prompt("What is it?")).toMatchObject({ status: "done" });
  expect(run.turns).toHaveLength(3);
  expect(run.session.path().at(-1)?.type).toBe("compaction");
  await run.agent.prompt("And now?");
  expect(run.turns).toHaveLength(4);
});
