import { expect, test, vi } from "vitest";
import { raceAbort, sleep } from "../src/host.ts";

const never = new Promise<never>(() => {});

function listened(signal: AbortSignal): () => number {
  let listeners = 0;
  const add = vi.spyOn(signal, "addEventListener");
  const remove = vi.spyOn(signal, "removeEventListener");
  return () => {
    listeners = add.mock.calls.length;
    return listeners === 0 ? 0 : listeners - remove.mock.calls.length;
  };
}

test("raceAbort returns the value and leaves no listener", async () => {
  const { signal } = new AbortController();
  const count = listened(signal);
  expect(await raceAbort(Promise.resolve(3), signal)).toBe(3);
  expect(count()).toBe(0);
});

test("raceAbort passes on the promise's error and leaves no listener", async () => {
  const { signal } = new AbortController();
  const count = listened(signal);
  await expect(raceAbort(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
  expect(count()).toBe(0);
});

test("raceAbort rejects with the signal's reason when it aborts, and leaves no listener", async () => {
  const controller = new AbortController();
  const count = listened(controller.signal);
  const raced = raceAbort(never, controller.signal);
  controller.abort(new Error("stopped by the user"));
  await expect(raced).rejects.toThrow("stopped by the user");
  expect(count()).toBe(0);
});

test("raceAbort makes its own error for an abort", async () => {
  const signal = AbortSignal.abort(new Error("stopped"));
  const cancel = (aborted: AbortSignal) => {
    throw new RangeError(`cancelled: ${(aborted.reason as Error).message}`);
  };
  await expect(raceAbort(never, signal, cancel)).rejects.toThrow(new RangeError("cancelled: stopped"));
});

test("an abort wins over a promise that has settled already", async () => {
  const signal = AbortSignal.abort(new Error("stopped"));
  await expect(raceAbort(Promise.resolve(1), signal)).rejects.toThrow("stopped");
  expect(await raceAbort(Promise.resolve(1), signal, () => undefined)).toBeUndefined();
});

test("raceAbort without a signal waits for the promise", async () => {
  expect(await raceAbort(Promise.resolve(1), undefined)).toBe(1);
});

test("a failure after the abort is no unhandled rejection", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const controller = new AbortController();
  const work = Promise.withResolvers<number>();
  const raced = raceAbort(work.promise, controller.signal, () => undefined);
  controller.abort();
  expect(await raced).toBeUndefined();
  work.reject(new Error("too late"));
  await new Promise(setImmediate);
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test("sleep waits for its time", async () => {
  vi.useFakeTimers();
  const slept = vi.fn();
  const done = sleep(1_000).then(slept);
  await vi.advanceTimersByTimeAsync(999);
  expect(slept).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await done;
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("an abort ends a sleep early, without an error, and leaves no timer", async () => {
  vi.useFakeTimers();
  const controller = new AbortController();
  const done = sleep(1_000, controller.signal);
  controller.abort();
  await done;
  await sleep(1_000, AbortSignal.abort());
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
