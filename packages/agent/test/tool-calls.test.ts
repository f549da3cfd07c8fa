import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tools/tool-registry.ts";
import { calls, done, scriptedAgent } from "./scripted-agent.ts";

test("results come in the order of the calls, whichever ends first; a tool that wants to run alone does", async () => {
  const log: string[] = [];
  const gates = new Map<string, () => void>();
  const gated = defineTool({
    name: "gated",
    description: "Ends when it may.",
    parameters: z.object({ id: z.string() }),
    execute: ({ input: { id } }) => {
      log.push(`start ${id}`);
      return new Promise((resolve) =>
        gates.set(id, () => {
          log.push(`end ${id}`);
          resolve({ content: [{ type: "text", text: id }] });
        }),
      );
    },
  });
  const alone = { ...gated, name: "alone", executionMode: "sequential" as const };
  const call = (name: string, id: string) => ({ name, arguments: { id } });
  const run = scriptedAgent({
    tools: [gated, alone],
    turn: [{ calls: [call("gated", "a"), call("gated", "b"), call("alone", "c"), call("gated", "d")] }, done],
  });
  const order = ["b", "a", "c", "d"];
  run.lifecycle.on("tool_execution_start", () => {
    setImmediate(() => {
      while (gates.has(order[0]!)) gates.get(order.shift()!)!();
    });
  });
  await run.agent.prompt("go");
  expect(log).toEqual(["start a", "start b", "end b", "end a", "start c", "end c", "start d", "end d"]);
  const results = run.turns[1]!.messages.flatMap((each) =>
    each.role === "toolResult" ? [each.content] : [],
  );
  expect(results.map(([content]) => content)).toMatchObject(["a", "b", "c", "d"].map((text) => ({ text })));
});

test("a call is not run when the work was stopped while a guard looked at it", async () => {
  let isRun = false;
  const tool = defineTool({
    name: "echo",
    description: "Runs.",
    parameters: z.object({}),
    execute: async () => {
      isRun = true;
      return { content: [] };
    },
  });
  const run = scriptedAgent({ tools: [tool], turn: [calls()] });
  run.lifecycle.on("tool_call", () => {
    void run.agent.abort();
  });
  expect((await run.agent.prompt("go")).status).toBe("aborted");
  expect(isRun).toBe(false);
  expect(run.session.projection().items.at(-1)?.message).toMatchObject({
    isError: true,
    content: [{ text: "Not run: the user stopped the work." }],
  });
});

test("the result of a call that an abort ends says that its changes so far remain", async () => {
  const tool = defineTool({
    name: "echo",
    description: "Fails once it is stopped.",
    parameters: z.object({}),
    execute: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("killed")));
        void run.agent.abort();
      }),
  });
  const run = scriptedAgent({ tools: [tool], turn: [calls()] });
  expect((await run.agent.prompt("go")).status).toBe("aborted");
  expect(run.session.projection().items.at(-1)?.message).toMatchObject({
    isError: true,
    content: [{ text: "The user stopped this call before it ended. Its changes so far remain." }],
  });
});

test("an update of a tool that has ended fires no event", async () => {
  const shown: unknown[] = [];
  let late: (() => void) | undefined;
  const tool = defineTool({
    name: "echo",
    description: "Shows.",
    parameters: z.object({}),
    execute: async ({ onUpdate }) => {
      onUpdate({ content: [{ type: "text", text: "half" }] });
      late = () => onUpdate({ content: [{ type: "text", text: "late" }] });
      return { content: [] };
    },
  });
  const run = scriptedAgent({ tools: [tool], turn: [calls(), done] });
  run.lifecycle.on("tool_execution_update", ({ partialResult }) => void shown.push(partialResult.content[0]));
  run.lifecycle.on("tool_execution_end", () => late?.());
  await run.agent.prompt("go");
  expect(shown).toEqual([{ type: "text", text: "half" }]);
});

test("calls of an answer that broke off get no results, for they were not run", async () => {
  const run = scriptedAgent({ turn: [calls({ text: "x".repeat(200) }, { cut: true }), done] });
  expect((await run.agent.prompt("go")).status).toBe("failed");
  const { message } = run.session.projection().items.at(-1)!;
  expect(message).toMatchObject({ role: "assistant", stopReason: "error", content: [{ type: "toolCall" }] });
  await run.agent.prompt("again");
  expect(run.session.projection().items.map(({ message: { role } }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
});

test("a result says how long the call took, where that is a second or more", async () => {
  let nowMs = 0;
  const wait = defineTool({
    name: "wait",
    description: "Takes its time.",
    parameters: z.object({ ms: z.number() }),
    execute: async ({ input: { ms } }) => {
      nowMs += ms;
      return { content: [] };
    },
  });
  const turn = [999, 1_000].map((ms) => ({ calls: [{ name: "wait", arguments: { ms } }] }));
  const run = scriptedAgent({ tools: [wait], turn: [...turn, done], now: () => nowMs });
  await run.agent.prompt("go");
  const results = run.session.projection().items.filter(({ message }) => message.role === "toolResult");
  expect(results.map(({ message }) => "durationMs" in message && message.durationMs)).toEqual([false, 1_000]);
});

test("guards and tools get arguments converted to a zod or JSON schema", async () => {
  const seen: unknown[] = [];
  const tool = (name: string, parameters: z.ZodType | Record<string, unknown>, checksArguments = false) => ({
    name,
    description: "Notes its input.",
    parameters,
    checksArguments,
    execute: async ({ input }: { input: unknown }) => {
      seen.push(input);
      return { content: [{ type: "text" as const, text: name }] };
    },
  });
  const json = {
    type: "object",
    properties: { limit: { type: "integer" }, all: { type: "boolean" }, paths: { type: "array", items: {} } },
    required: ["limit"],
  };
  const zod = z.object({ limit: z.number(), all: z.boolean(), paths: z.array(z.string()) });
  const args = { limit: "30", all: "true", paths: "a.ts" };
  const run = scriptedAgent({
    tools: [tool("zod", zod), tool("json", json), tool("own", json, true)],
    turn: [{ calls: ["zod", "json", "own"].map((name) => ({ name, arguments: args })) }, done],
  });
  const guarded: unknown[] = [];
  run.lifecycle.on("tool_call", ({ input }) => void guarded.push(structuredClone(input)));
  await run.agent.prompt("go");
  const fitted = { limit: 30, all: true, paths: ["a.ts"] };
  expect(guarded).toEqual([fitted, fitted, fitted]);
  expect(seen).toEqual([fitted, fitted, fitted]);
});
