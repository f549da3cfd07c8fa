import { type LifecycleEvents, lifecycleEventRules, type RunResult } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { InteractiveContext } from "../../src/interactive/interactive-context.ts";
import { indexInBackground } from "../../src/interactive/session/background.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function begun() {
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  const agent = { isBusy: false };
  const catchUp = vi.fn(async () => "complete" as const);
  const host = { agent, app: { lifecycle } };
  const stop = indexInBackground({ host, search: { catchUp } } as unknown as InteractiveContext);
  const opened = () => lifecycle.notify("session_start", { type: "session_start", reason: "startup" });
  const result = { status: "done" } as unknown as RunResult;
  const runEnded = () => lifecycle.notify("agent_end", { type: "agent_end", messages: [], result });
  return { agent, catchUp, stop, opened, runEnded };
}

test("sessions are indexed after opening and after runs, with a delay", async () => {
  const { catchUp, opened, runEnded } = begun();
  await opened();
  expect(catchUp).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(3000);
  expect(catchUp).toHaveBeenCalledTimes(1);
  for (let run = 0; run < 5; run += 1) {
    await runEnded();
    await vi.advanceTimersByTimeAsync(3000);
  }
  expect(catchUp).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(catchUp).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(catchUp).toHaveBeenCalledTimes(2);
});

test("indexing waits for the end of a run", async () => {
  const { agent, catchUp, opened, runEnded } = begun();
  agent.isBusy = true;
  await opened();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(catchUp).toHaveBeenCalledTimes(0);
  agent.isBusy = false;
  await runEnded();
  await vi.advanceTimersByTimeAsync(3000);
  expect(catchUp).toHaveBeenCalledTimes(1);
});

test("nothing is indexed after a stop", async () => {
  const { catchUp, opened, runEnded, stop } = begun();
  await opened();
  stop();
  await runEnded();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(catchUp).toHaveBeenCalledTimes(0);
});
