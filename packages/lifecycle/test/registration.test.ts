import { describeNotice, Lifecycle, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sampleLifecycle, sampleRules } from "./sample-events.ts";

function recorded(lifecycle: ReturnType<typeof sampleLifecycle>["lifecycle"]) {
  const calls: string[] = [];
  return {
    calls,
    listen: (name: string, source?: string) =>
      lifecycle.on("session_start", () => void calls.push(name), source === undefined ? {} : { source }),
    fire: async () => {
      calls.length = 0;
      await lifecycle.notify("session_start", { reason: "new" });
      return [...calls];
    },
  };
}

describe("order", () => {
  it("is by the source's place, then by registration", async () => {
    const { lifecycle } = sampleLifecycle();
    const { listen, fire } = recorded(lifecycle);
    lifecycle.addSource("loaded-first");
    listen("b1", "b");
    listen("a1", "a");
    listen("b2", "b");
    listen("late", "loaded-first");
    listen("a2", "a");
    expect(await fire()).toEqual(["late", "b1", "b2", "a1", "a2"]);
  });

  it("waits for each handler before the next", async () => {
    const { lifecycle } = sampleLifecycle();
    const log: string[] = [];
    lifecycle.on("session_start", async () => {
      log.push("a in");
      await Promise.resolve();
      log.push("a out");
    });
    lifecycle.on("session_start", () => void log.push("b"));
    await lifecycle.notify("session_start", { reason: "new" });
    expect(log).toEqual(["a in", "a out", "b"]);
  });
});

describe("undo", () => {
  it("takes out one registration, of the same function too, and only once", async () => {
    const { lifecycle } = sampleLifecycle();
    const calls: number[] = [];
    const handler = () => void calls.push(1);
    const undo = lifecycle.on("session_start", handler);
    lifecycle.on("session_start", handler);
    lifecycle.on("session_start", handler);
    undo();
    undo();
    await lifecycle.notify("session_start", { reason: "new" });
    expect(calls).toHaveLength(2);
  });

  it("by source takes out everything that the source registered, and its place", async () => {
    const { lifecycle } = sampleLifecycle();
    const { listen, fire } = recorded(lifecycle);
    const undo = listen("a1", "a");
    listen("b1", "b");
    listen("a2", "a");
    lifecycle.on("before_compact", () => ({ cancel: true }), { source: "a" });
    lifecycle.removeSource("a");
    lifecycle.removeSource("a");
    undo();
    expect(await fire()).toEqual(["b1"]);
    expect(lifecycle.hasHandlers("before_compact")).toBe(false);
    listen("a3", "a");
    expect(await fire()).toEqual(["b1", "a3"]);
  });

  it("undoing all registrations leaves no handlers", () => {
    const { lifecycle } = sampleLifecycle();
    expect(lifecycle.hasHandlers("session_start")).toBe(false);
    const undo = lifecycle.on("session_start", () => {});
    expect(lifecycle.hasHandlers("session_start")).toBe(true);
    undo();
    expect(lifecycle.hasHandlers("session_start")).toBe(false);
  });
});

describe("changes during a call", () => {
  it("do not disturb it", async () => {
    const { lifecycle } = sampleLifecycle();
    const { calls, listen, fire } = recorded(lifecycle);
    let changed = false;
    lifecycle.on("session_start", () => {
      if (changed) return;
      changed = true;
      calls.push("changing");
      undoNext();
      lifecycle.removeSource("whole");
      listen("added");
    });
    const undoNext = listen("next");
    listen("of a source", "whole");
    expect(await fire()).toEqual(["changing", "next", "of a source"]);
    expect(await fire()).toEqual(["added"]);
  });
});

describe("notices", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("name an event that does not exist", () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("sesion_start" as "session_start", () => {}, { source: "a" });
    lifecycle.on("constructor" as "session_start", () => {}, { source: "a" });
    expect(notices).toEqual(
      ["sesion_start", "constructor"].map((event) => ({ type: "unknown_event", event, source: "a" })),
    );
  });

  it("become process warnings when nobody takes them", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const lifecycle = new Lifecycle({ rules: sampleRules });
    lifecycle.on("session_start", () => {
      throw new Error("broken");
    });
    await lifecycle.notify("session_start", { reason: "new" });
    expect(emitWarning).toHaveBeenCalledWith("host failed in session_start: broken", {
      type: "BonsaiLifecycle",
      code: "handler_error",
    });
  });

  const sentences: [LifecycleNotice, string][] = [
    [{ type: "handler_error", event: "e", source: "a", error: "text" }, "a failed in e: text"],
    [{ type: "slow_handler", event: "e", source: "a", elapsedMs: 30_000 }, "a has been handling e for 30 s"],
    [
      { type: "conflict", event: "e", field: "f", sources: ["a", "b"] },
      "a and b both set f in e. Using the value of b",
    ],
    [
      { type: "invalid_result", event: "e", source: "a", received: "a string" },
      "a returned a string from e: ignored",
    ],
    [{ type: "unknown_event", event: "e", source: "a" }, "a listens to e, which is not an event"],
  ];
  it("read as sentences", () => {
    expect(sentences.map(([notice]) => [notice, describeNotice(notice)])).toEqual(sentences);
  });
});

describe("notify", () => {
  it("freezes what the rule calls read-only, and passes the rest by reference", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const compactionEntry = { id: "c1", details: { files: ["a.ts"] } };
    lifecycle.on("session_compact", (event) => {
      expect(event.compactionEntry).toBe(compactionEntry);
      event.compactionEntry.id = "c2";
    });
    await lifecycle.notify("session_compact", { compactionEntry });
    expect(compactionEntry.id).toBe("c1");
    expect(notices).toMatchObject([{ type: "handler_error", error: expect.any(TypeError) }]);
  });

  it("ignores what handlers return", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("session_start", (() => ({ cancel: true })) as never);
    await lifecycle.notify("session_start", { reason: "new" });
    expect(notices).toEqual([]);
  });
});
