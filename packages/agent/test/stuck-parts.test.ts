import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTool, type Tool } from "../src/tools/tool-registry.ts";
import { unpaired } from "./pairs.ts";
import { calls, done, filler, scriptedAgent } from "./scripted-agent.ts";

const odd = (name: string, execute: () => unknown): Tool => ({
  name,
  description: name,
  parameters: { type: "object" },
  execute: execute as Tool["execute"],
});

afterEach(() => void vi.useRealTimers());

test("a tool that never ends is left behind a while after the abort", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const run = scriptedAgent({
    tools: [odd("stuck", () => new Promise(() => {}))],
    turn: [{ calls: [{ name: "stuck" }] }, done],
  });
  run.lifecycle.on("tool_call", () => void setTimeout(() => void run.agent.abort(), 0));
  const result = run.agent.prompt("go");
  await vi.advanceTimersByTimeAsync(6_000);
  expect((await result).status).toBe("aborted");
  expect(run.agent.isBusy).toBe(false);
  expect((await run.agent.prompt("again")).status).toBe("done");
  expect(unpaired(run.turns.at(-1)!.messages)).toEqual([]);
});

test.each(["turn_start", "message_end", "tool_result", "turn_end"] as const)(
  "a handler of %s that never ends is left behind a while after the abort, and the end is told all the same",
  async (name) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const run = scriptedAgent({ turn: [calls(), done] });
    let isEnded = false;
    run.lifecycle.on("agent_end", () => {
      isEnded = true;
    });
    run.lifecycle.on(name, () => new Promise<never>(() => {}));
    const result = run.agent.prompt("go");
    await vi.advanceTimersByTimeAsync(10);
    void run.agent.abort();
    await vi.advanceTimersByTimeAsync(20_000);
    expect((await result).status).toBe("aborted");
    expect(isEnded).toBe(true);
    expect(run.agent.isBusy).toBe(false);
  },
);

test.each([
  "auto_compaction_start",
  "session_before_compact",
  "session_compact",
  "auto_compaction_end",
] as const)(
  "a handler of %s that never ends does not hold an agent that is to stop compacting",
  async (name) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const run = scriptedAgent({ turn: () => done });
    for (const size of [4_000, 8_000]) await run.agent.prompt(filler(size));
    const reached = Promise.withResolvers<void>();
    run.lifecycle.on(name, () => {
      reached.resolve();
      return new Promise<never>(() => {});
    });
    const outcome = run.agent.compact();
    await reached.promise;
    void run.agent.abort();
    await vi.advanceTimersByTimeAsync(6_000);
    const isWritten = name === "session_compact" || name === "auto_compaction_end";
    expect((await outcome).status).toBe(isWritten ? "compacted" : "cancelled");
    expect(run.agent.isBusy).toBe(false);
  },
);

test("nothing stays on the signal of a run, however many requests and tools it has had", async () => {
  const signals = new Set<AbortSignal>();
  const most: number[] = [];
  const listen = (signal: AbortSignal) => {
    signals.add(signal);
    signal.addEventListener("abort", () => {});
    most.push(getEventListeners(signal, "abort").length);
  };
  const leaky = defineTool({
    name: "leaky",
    description: "Never takes its listener away.",
    parameters: z.object({}),
    async execute({ signal }) {
      listen(signal);
      return { content: [{ type: "text", text: "ok" }] };
    },
  });
  const run = scriptedAgent({
    tools: [leaky],
    turn: (call, count) => {
      listen(call.signal);
      return count < 40 ? { calls: [{ name: "leaky" }, { name: "leaky" }] } : done;
    },
  });
  let hook: AbortSignal | undefined;
  run.lifecycle.on("tool_call", (_event, { signal }) => {
    hook ??= signal;
  });
  await run.agent.prompt(filler(10));
  expect(signals.size).toBe(118);
  expect(Math.max(...most)).toBeLessThan(10);
  expect(getEventListeners(hook!, "abort").length).toBeLessThan(4);
});

test("a closed agent refuses work and says so; closing twice is no error", async () => {
  const { agent } = scriptedAgent({ turn: [done] });
  await agent.close();
  await agent.close();
  await expect(agent.prompt("hi")).rejects.toMatchObject({ code: "agent_closed" });
  await expect(agent.compact()).rejects.toMatchObject({ code: "agent_closed" });
});
