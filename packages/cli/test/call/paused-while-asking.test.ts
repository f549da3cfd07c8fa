import type { FrontEndUI } from "@bonsai-agent/extension/host";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pauseTimersWhileAsking } from "../../src/call/questions.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("a handler's timer pauses while a question is open", async () => {
  const answer = Promise.withResolvers<boolean>();
  const said: string[] = [];
  const own = { confirm: () => answer.promise, notify: (text: string) => said.push(text) };
  const { ui, setTimer } = pauseTimersWhileAsking(own as unknown as FrontEndUI);
  const onSlow = vi.fn();
  setTimer(onSlow, 30_000);
  const confirmed = ui.confirm("Sure?", "");
  await vi.advanceTimersByTimeAsync(90_000);
  expect(onSlow).not.toHaveBeenCalled();
  answer.resolve(true);
  expect(await confirmed).toBe(true);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(onSlow).toHaveBeenCalledTimes(1);
  ui.notify("done");
  expect(said).toEqual(["done"]);
});

test("a timer runs out once, and a cancelled timer does not", async () => {
  const { setTimer } = pauseTimersWhileAsking(undefined);
  const [onSlow, calledOff] = [vi.fn(), vi.fn()];
  setTimer(onSlow, 30_000);
  setTimer(calledOff, 30_000)();
  await vi.advanceTimersByTimeAsync(120_000);
  expect([onSlow.mock.calls.length, calledOff.mock.calls.length]).toEqual([1, 0]);
});

test("a question that fails is no longer open", async () => {
  const own = { confirm: () => Promise.reject(new Error("gone")) };
  const { ui, setTimer } = pauseTimersWhileAsking(own as unknown as FrontEndUI);
  await expect(ui.confirm("Sure?", "")).rejects.toThrow("gone");
  const onSlow = vi.fn();
  setTimer(onSlow, 30_000);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(onSlow).toHaveBeenCalledTimes(1);
});
