import { describeNotice } from "@bonsai-agent/lifecycle";
import { describe, expect, it } from "vitest";
import { sampleLifecycle } from "./sample-events.ts";

const boom = new Error("boom");
const throwing = () => {
  throw boom;
};
const rejecting = async () => {
  throw boom;
};

/** A timer whose time comes when the test says so. */
function manualTimer() {
  const due = new Map<() => void, number>();
  return {
    setTimer: (callback: () => void, delayMs: number) => {
      due.set(callback, delayMs);
      return () => void due.delete(callback);
    },
    delaysMs: () => [...due.values()],
    fire: () => {
      for (const callback of [...due.keys()]) {
        due.delete(callback);
        callback();
      }
    },
  };
}

describe("a handler that throws", () => {
  it.each([
    ["throws", throwing],
    ["rejects", rejecting],
  ])("and %s is reported, and the event goes on", async (_name, handler) => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", handler, { source: "a" });
    lifecycle.on("before_compact", () => ({ compaction: "text" }), { source: "b" });
    const { result } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ compaction: "text" });
    expect(notices).toEqual([{ type: "handler_error", event: "before_compact", source: "a", error: boom }]);
  });

  it("refuses where it was registered to fail closed", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", rejecting, { source: "a", onError: "cancel" });
    const { result, sources } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ cancel: true });
    expect(sources).toEqual({ cancel: "a" });
    expect(notices).toHaveLength(1);
  });

  it("refuses where the event fails closed, unless registered otherwise", async () => {
    const { lifecycle } = sampleLifecycle();
    const undo = lifecycle.on("tool_call", throwing, { source: "a" });
    const call = { toolName: "bash", input: {} };
    expect((await lifecycle.decide("tool_call", call)).result).toEqual({
      block: true,
      reason: "Error: boom",
    });
    undo();
    lifecycle.on("tool_call", throwing, { source: "a", onError: "report" });
    expect((await lifecycle.decide("tool_call", call)).result).toBeUndefined();
  });

  it("does not keep a notification from the others", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const seen: string[] = [];
    lifecycle.on("session_start", throwing, { source: "a" });
    lifecycle.on("session_start", ({ reason }) => void seen.push(reason), { source: "b" });
    await lifecycle.notify("session_start", { reason: "new" });
    expect(seen).toEqual(["new"]);
    expect(notices).toEqual([{ type: "handler_error", event: "session_start", source: "a", error: boom }]);
  });

  it("counts as such when only reading its result throws", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const trap = {
      get cancel(): true {
        throw boom;
      },
    };
    lifecycle.on("before_compact", () => trap, { source: "a" });
    lifecycle.on("before_compact", async () => trap, { source: "b" });
    expect((await lifecycle.decide("before_compact", { reason: "manual" })).result).toBeUndefined();
    expect(notices.map((notice) => notice.type)).toEqual(["handler_error", "handler_error"]);
  });
});

describe("a slow handler", () => {
  it("is named once, when its time has come, and goes on", async () => {
    const timer = manualTimer();
    const { lifecycle, notices } = sampleLifecycle({ setTimer: timer.setTimer, slowHandlerMs: 30_000 });
    const gate = Promise.withResolvers<void>();
    lifecycle.on("before_compact", () => gate.promise.then(() => ({ compaction: "late" })), { source: "a" });
    const decision = lifecycle.decide("before_compact", { reason: "manual" });
    expect(timer.delaysMs()).toEqual([30_000]);
    expect(notices).toEqual([]);
    timer.fire();
    timer.fire();
    expect(notices).toEqual([
      { type: "slow_handler", event: "before_compact", source: "a", elapsedMs: 30_000 },
    ]);
    gate.resolve();
    expect((await decision).result).toEqual({ compaction: "late" });
  });

  it("does not delay the next handler in an event that passes slow handlers", async () => {
    const timer = manualTimer();
    const { lifecycle, notices } = sampleLifecycle({
      setTimer: timer.setTimer,
      slowHandlerMs: 30_000,
      passesSlowHandlers: new Set(["session_compact"]),
    });
    const called: string[] = [];
    lifecycle.on("session_compact", () => new Promise<void>(() => {}), { source: "a" });
    lifecycle.on("session_compact", () => void called.push("b"), { source: "b" });
    const compactionEntry = { id: "k", details: { files: [] } };
    const told = lifecycle.notify("session_compact", { compactionEntry });
    timer.fire();
    await told;
    expect(called).toEqual(["b"]);
    const notice = {
      type: "slow_handler",
      event: "session_compact",
      source: "a",
      elapsedMs: 30_000,
    } as const;
    expect(notices).toEqual([{ ...notice, isPassed: true }]);
    expect(describeNotice({ ...notice, isPassed: true })).toBe(
      "a has been handling session_compact for 30 s. Bonsai continues without waiting for it",
    );
  });

  it("is timed on its own, and a quick one leaves no timer behind", async () => {
    const timer = manualTimer();
    const { lifecycle } = sampleLifecycle({ setTimer: timer.setTimer });
    lifecycle.on("session_start", async () => {}, { source: "a" });
    lifecycle.on("session_start", rejecting, { source: "b" });
    lifecycle.on("session_start", () => {}, { source: "c" });
    await lifecycle.notify("session_start", { reason: "new" });
    expect(timer.delaysMs()).toEqual([]);
  });
});

describe("a handler that does not answer at once", () => {
  it("is waited for until it has answered, failed, or was left behind", async () => {
    const seen: string[] = [];
    const { lifecycle } = sampleLifecycle({
      onSlowAnswer({ event, source }) {
        seen.push(`${source} in ${event}`);
        return () => seen.push(`${source} ended`);
      },
    });
    const abort = new AbortController();
    lifecycle.on("session_start", () => {}, { source: "quick" });
    lifecycle.on("session_start", async () => {}, { source: "a" });
    lifecycle.on("session_start", rejecting, { source: "b" });
    lifecycle.on("session_start", () => new Promise<void>(() => abort.abort()), { source: "hung" });
    await lifecycle.notify("session_start", { reason: "new" }, { signal: abort.signal });
    expect(seen).toEqual([
      ...["a in session_start", "a ended", "b in session_start", "b ended"],
      ...["hung in session_start", "hung ended"],
    ]);
  });
});

describe("an abort", () => {
  it("reaches the handlers", async () => {
    const { lifecycle } = sampleLifecycle();
    const abort = new AbortController();
    const seen: AbortSignal[] = [];
    lifecycle.on("before_compact", (_event, { signal }) => void seen.push(signal));
    lifecycle.on("session_start", (_event, { signal }) => void seen.push(signal));
    await lifecycle.decide("before_compact", { reason: "manual" }, { signal: abort.signal });
    await lifecycle.notify("session_start", { reason: "new" }, { signal: abort.signal });
    expect(seen).toEqual([abort.signal, abort.signal]);
  });

  it("does not wait for a hung handler, calls no later one, and holds the refusal", async () => {
    const timer = manualTimer();
    const { lifecycle, notices } = sampleLifecycle({ setTimer: timer.setTimer });
    const abort = new AbortController();
    const called: string[] = [];
    lifecycle.on("before_compact", () => ({ label: "kept" }), { source: "a" });
    lifecycle.on("before_compact", () => new Promise<undefined>(() => {}), { source: "hung" });
    lifecycle.on("before_compact", () => void called.push("later"), { source: "c" });
    const decision = lifecycle.decide("before_compact", { reason: "manual" }, { signal: abort.signal });
    await Promise.resolve();
    abort.abort();
    expect(await decision).toEqual({
      result: { label: "kept", cancel: true },
      sources: { label: "a" },
      payload: { reason: "manual" },
      aborted: true,
    });
    expect(called).toEqual([]);
    expect(notices).toEqual([]);
    expect(timer.delaysMs()).toEqual([]);
  });

  it("before the event calls nobody", async () => {
    const { lifecycle } = sampleLifecycle();
    const called: string[] = [];
    lifecycle.on("before_compact", () => void called.push("decide"));
    lifecycle.on("session_start", () => void called.push("notify"));
    const signal = AbortSignal.abort();
    const decision = await lifecycle.decide("before_compact", { reason: "manual" }, { signal });
    await lifecycle.notify("session_start", { reason: "new" }, { signal });
    expect(decision.aborted).toBe(true);
    expect(decision.result).toEqual({ cancel: true });
    expect(called).toEqual([]);
  });

  it("is not taken for a failure of the handler that obeys it", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const abort = new AbortController();
    lifecycle.on("before_compact", (_event, { signal }) => {
      abort.abort();
      signal.throwIfAborted();
    });
    const decision = await lifecycle.decide("before_compact", { reason: "manual" }, { signal: abort.signal });
    expect(decision.aborted).toBe(true);
    expect(notices).toEqual([]);
  });

  it("an abort of an event without a refusal holds no refusal", async () => {
    const { lifecycle } = sampleLifecycle();
    const decision = await lifecycle.decide("input", { text: "in" }, { signal: AbortSignal.abort() });
    expect(decision).toEqual({ result: undefined, sources: {}, payload: { text: "in" }, aborted: true });
  });

  it("lets a notification end, and a late rejection of the hung handler is nobody's", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const abort = new AbortController();
    const hung = Promise.withResolvers<void>();
    lifecycle.on("session_start", () => hung.promise);
    const seen = lifecycle.notify("session_start", { reason: "new" }, { signal: abort.signal });
    abort.abort();
    await seen;
    hung.reject(boom);
    await Promise.resolve();
    expect(notices).toEqual([]);
  });
});
