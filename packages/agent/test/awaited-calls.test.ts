import { expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tools/tool-registry.ts";
import { calls, done, filler, scriptedAgent, sentText } from "./scripted-agent.ts";

test("a handler that awaits its own queued text is told that it waits, and the text is said", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  const told: unknown[] = [];
  const off = run.lifecycle.on("tool_execution_start", async () => {
    off();
    told.push(await run.agent.prompt("and quickly", { behavior: "steer" }));
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(told).toEqual([{ status: "queued" }]);
  expect(sentText(run.turns[1]!)).toContain("and quickly");
});

test("a tool and a handler of a manual compaction that await a queued text get the status queued", async () => {
  const told: unknown[] = [];
  const asks = defineTool({
    name: "echo",
    description: "Asks.",
    parameters: z.object({}),
    execute: async () => {
      told.push(await run.agent.prompt("from the tool", { behavior: "followUp" }));
      return { content: [] };
    },
  });
  const run = scriptedAgent({
    tools: [asks],
    turn: (_call, count) => (count === 1 ? calls() : done),
  });
  await run.agent.prompt(filler(4_000));
  await run.agent.prompt(filler(8_000));
  run.lifecycle.on("session_before_compact", async () => {
    told.push(await run.agent.prompt("from the handler"));
  });
  expect((await run.agent.compact()).status).toBe("compacted");
  await run.agent.idle();
  expect(told).toEqual([{ status: "queued" }, { status: "queued" }]);
  expect(sentText(run.turns.at(-1)!)).toContain("from the handler");
});

test("a handler that has gone on holds the promise of the run", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  let later: Promise<unknown> | undefined;
  const off = run.lifecycle.on("tool_execution_start", () => {
    off();
    later = run.agent.prompt("and quickly", { behavior: "steer" });
  });
  const result = await run.agent.prompt("go");
  expect(await later).toEqual(result);
});

test("a handler that awaits an abort is not waited for in turn", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  run.lifecycle.on("tool_execution_start", () => run.agent.abort());
  expect((await run.agent.prompt("go")).status).toBe("aborted");
  expect(run.agent.isBusy).toBe(false);
});

test("a handler that hangs at the end of the session is left behind, and who closes twice waits for both", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const run = scriptedAgent({ turn: [] });
    run.lifecycle.on("session_shutdown", () => {
      queueMicrotask(() => vi.advanceTimersByTime(5_000));
      return new Promise<void>(() => {});
    });
    const close = vi.spyOn(run.session, "close");
    const first = run.agent.close();
    await run.agent.close();
    expect(close).toHaveBeenCalledTimes(1);
    await first;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
