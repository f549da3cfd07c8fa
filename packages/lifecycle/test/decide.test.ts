import { describeNotice } from "@bonsai-agent/lifecycle";
import { describe, expect, it } from "vitest";
import { sampleLifecycle } from "./sample-events.ts";

describe("decide: what handlers propose", () => {
  it("is undefined when nobody listens, and when everybody abstains", async () => {
    const { lifecycle } = sampleLifecycle();
    expect((await lifecycle.decide("before_compact", { reason: "manual" })).result).toBeUndefined();
    lifecycle.on("before_compact", () => undefined);
    lifecycle.on("before_compact", () => ({}));
    lifecycle.on("before_compact", async () => {});
    const decision = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(decision).toEqual({
      result: undefined,
      sources: {},
      payload: { reason: "manual" },
      aborted: false,
    });
  });

  it("is not erased by a later handler that returns {} or an undefined field", async () => {
    const { lifecycle } = sampleLifecycle();
    lifecycle.on("before_compact", () => ({ compaction: "mine" }), { source: "a" });
    lifecycle.on("before_compact", () => ({}), { source: "b" });
    lifecycle.on("before_compact", () => ({ compaction: undefined }) as never, { source: "c" });
    const { result, sources } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ compaction: "mine" });
    expect(sources).toEqual({ compaction: "a" });
  });

  it("asks a getter of the payload, also one inside of a read-only field, only for a handler that asks", async () => {
    const { lifecycle } = sampleLifecycle();
    const asked: string[] = [];
    const payload = {
      reason: "manual",
      get path() {
        asked.push("path");
        return ["a"];
      },
      preparation: {
        firstKeptEntryId: "b",
        get messages() {
          asked.push("messages");
          return ["m"];
        },
      },
    };
    lifecycle.on("before_compact", ({ reason, preparation }) => ({
      label: `${reason} ${preparation?.firstKeptEntryId}`,
    }));
    const { result } = await lifecycle.decide("before_compact", payload);
    expect(result).toEqual({ label: "manual b" });
    expect(asked).toEqual([]);
    lifecycle.on("before_compact", (event) => {
      expect(event).toMatchObject({ path: ["a"], preparation: { messages: ["m"] } });
      expect(Object.isFrozen(event)).toBe(true);
      return undefined;
    });
    await lifecycle.decide("before_compact", payload);
    expect(asked).not.toEqual([]);
  });

  it("is what the later of two suppliers gave, and a notice names both", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", () => ({ compaction: "first" }), { source: "a" });
    lifecycle.on("before_compact", () => ({ compaction: "second" }), { source: "b" });
    const { result, sources } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ compaction: "second" });
    expect(sources).toEqual({ compaction: "b" });
    expect(notices).toEqual([
      { type: "conflict", event: "before_compact", field: "compaction", sources: ["a", "b"] },
    ]);
  });

  it("merges different fields, and replaces a field that nobody owns without a notice", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", () => ({ compaction: "text", label: "one" }), { source: "a" });
    lifecycle.on("before_compact", () => ({ label: "two" }), { source: "b" });
    const { result, sources } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ compaction: "text", label: "two" });
    expect(sources).toEqual({ compaction: "a", label: "b" });
    expect(notices).toEqual([]);
  });

  it("adds up by key where the rule says so; of a key that two set the later stands, and a notice names both", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", () => ({ notes: { todo: "wash", done: "iron" } }), { source: "a" });
    lifecycle.on("before_compact", () => ({ notes: {} }), { source: "b" });
    lifecycle.on("before_compact", () => ({ notes: { todo: "dry" } }), { source: "c" });
    const { result } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ notes: { todo: "dry", done: "iron" } });
    expect(notices).toEqual([
      { type: "conflict", event: "before_compact", field: "notes.todo", sources: ["a", "c"] },
    ]);
  });

  it("is named in the rule's own words where the rule says what is wrong with it", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", () => ({ notes: "wash" }) as never, { source: "a" });
    expect((await lifecycle.decide("before_compact", { reason: "manual" })).result).toBeUndefined();
    expect(notices.map(describeNotice)).toEqual([
      "a returned notes that are no object from before_compact: ignored",
    ]);
  });

  it("adds up where the rule says so", async () => {
    const { lifecycle } = sampleLifecycle();
    lifecycle.on("before_mask", () => ({ keep: ["1", "2"] }));
    lifecycle.on("before_mask", () => ({ keep: ["2", "3"] }));
    const { result } = await lifecycle.decide("before_mask", { entryIds: ["1", "2", "3", "4"] });
    expect(result).toEqual({ keep: ["1", "2", "3"] });
  });

  it("ends at a final result: later handlers are not called", async () => {
    const { lifecycle } = sampleLifecycle();
    const called: string[] = [];
    lifecycle.on("before_compact", () => {
      called.push("a");
      return { cancel: true };
    });
    lifecycle.on("before_compact", () => void called.push("b"));
    const { result } = await lifecycle.decide("before_compact", { reason: "manual" });
    expect(result).toEqual({ cancel: true });
    expect(called).toEqual(["a"]);
  });

  it("is seen by later handlers as current, on the payload and in the context", async () => {
    const { lifecycle } = sampleLifecycle();
    const seen: unknown[] = [];
    lifecycle.on("before_compact", (event, { current }) => {
      seen.push([event.current, current]);
      return { compaction: "text" };
    });
    lifecycle.on("before_compact", (event, { current }) => void seen.push([event.current, current]));
    await lifecycle.decide("before_compact", { reason: "manual" });
    expect(seen).toEqual([
      [undefined, undefined],
      [{ compaction: "text" }, { compaction: "text" }],
    ]);
  });

  const abstaining = [
    ["a string", "cancel", "a string"],
    ["an array", [{ cancel: true }], "an array"],
    ["a number", 0, "a number"],
    ["true", true, "a boolean"],
    ["a function", () => ({ cancel: true }), "a function"],
  ] as const;
  it("counts an unusable answer as abstaining, with a notice", async () => {
    for (const [name, rubbish, received] of abstaining) {
      const { lifecycle, notices } = sampleLifecycle();
      lifecycle.on("before_compact", () => rubbish as never, { source: "a" });
      lifecycle.on("before_compact", async () => rubbish as never, { source: "b" });
      const { result } = await lifecycle.decide("before_compact", { reason: "manual" });
      expect.soft(result, name).toBeUndefined();
      expect
        .soft(notices, name)
        .toEqual(
          ["a", "b"].map((source) => ({ type: "invalid_result", event: "before_compact", source, received })),
        );
    }
  });

  it("counts an object that the rule refuses as abstaining, with a notice", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_mask", () => ({ keep: "all" }) as never, { source: "a" });
    const { result } = await lifecycle.decide("before_mask", { entryIds: [] });
    expect(result).toBeUndefined();
    expect(notices).toEqual([
      { type: "invalid_result", event: "before_mask", source: "a", received: "fields {keep}" },
    ]);
  });

  const refusing = [
    ["a string", "blocked", "a string"],
    ["true", true, "a boolean"],
    ["fields of another event", { cancel: true }, "fields {cancel}"],
  ] as const;
  it("counts an unusable answer as a refusal where the event fails closed, with a notice", async () => {
    for (const [name, rubbish, received] of refusing) {
      const { lifecycle, notices } = sampleLifecycle();
      lifecycle.on("tool_call", () => rubbish as never, { source: "a" });
      const { result } = await lifecycle.decide("tool_call", { toolName: "bash", input: {} });
      expect.soft(result, name).toEqual({
        block: true,
        reason: `TypeError: a returned ${received} from tool_call, which is not a valid answer.`,
      });
      const notice = { type: "invalid_result", event: "tool_call", source: "a", received, isRefusal: true };
      expect.soft(notices, name).toEqual([notice]);
      expect
        .soft(describeNotice(notices[0]!), name)
        .toBe(`a returned ${received} from tool_call: treated as a refusal`);
    }
  });

  it("asks whether a result fits the payload as it is by then", async () => {
    const { lifecycle } = sampleLifecycle();
    lifecycle.on("before_mask", () => ({ keep: ["b"] }));
    lifecycle.on("before_mask", () => ({ keep: ["x"] }));
    expect((await lifecycle.decide("before_mask", { entryIds: ["a", "b"] })).result).toEqual({ keep: ["b"] });
  });

  it("counts null as abstaining, in silence", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("before_compact", () => null as never);
    expect((await lifecycle.decide("before_compact", { reason: "manual" })).result).toBeUndefined();
    expect(notices).toEqual([]);
  });
});

describe("decide: chained transformation", () => {
  it("shows each handler the value as changed so far, and returns the last", async () => {
    const { lifecycle } = sampleLifecycle();
    const seen: string[] = [];
    lifecycle.on("input", ({ text }) => {
      seen.push(text);
      return { text: `${text}1` };
    });
    lifecycle.on("input", ({ text }) => void seen.push(text));
    lifecycle.on("input", async ({ text }) => {
      seen.push(text);
      return { text: `${text}2` };
    });
    const { payload } = await lifecycle.decide("input", { text: "in" });
    expect(seen).toEqual(["in", "in1", "in1"]);
    expect(payload).toEqual({ text: "in12" });
  });

  it("goes on with the unchanged value after a throw", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    lifecycle.on("input", ({ text }) => ({ text: `${text}1` }));
    lifecycle.on("input", () => {
      throw new Error("broken");
    });
    lifecycle.on("input", ({ text }) => ({ text: `${text}3` }));
    const { payload } = await lifecycle.decide("input", { text: "in" });
    expect(payload.text).toBe("in13");
    expect(notices.map(({ type }) => type)).toEqual(["handler_error"]);
  });

  it("can be ended by one handler", async () => {
    const { lifecycle } = sampleLifecycle();
    lifecycle.on("input", () => ({ handled: true }));
    lifecycle.on("input", () => ({ text: "late" }));
    const { payload, result } = await lifecycle.decide("input", { text: "in" });
    expect(payload.text).toBe("in");
    expect(result).toEqual({ handled: true });
  });
});

describe("decide: payloads", () => {
  it("cannot be reassigned by a handler, and are the caller's own afterwards", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const payload = { reason: "manual" };
    lifecycle.on("before_compact", (event) => {
      (event as { reason: string }).reason = "hijacked";
    });
    const decision = await lifecycle.decide("before_compact", payload);
    expect(notices).toMatchObject([{ type: "handler_error", error: expect.any(TypeError) }]);
    expect(decision.payload).toBe(payload);
    expect(payload).toEqual({ reason: "manual" });
    expect(Object.isFrozen(payload)).toBe(false);
  });

  it("are read-only where the rule says so, one level deep", async () => {
    const { lifecycle, notices } = sampleLifecycle();
    const preparation = { firstKeptEntryId: "e1", messages: ["one"] };
    lifecycle.on("before_compact", (event) => {
      event.preparation?.messages.push("two");
    });
    lifecycle.on("before_compact", (event) => {
      event.preparation!.firstKeptEntryId = "e2";
    });
    await lifecycle.decide("before_compact", { reason: "manual", preparation });
    expect(preparation).toEqual({ firstKeptEntryId: "e1", messages: ["one"] });
    expect(notices.map(({ type }) => type)).toEqual(["handler_error", "handler_error"]);
  });

  it("can be changed in place elsewhere: the input of a tool call", async () => {
    const { lifecycle } = sampleLifecycle();
    const input: Record<string, unknown> = { command: "ls" };
    lifecycle.on("tool_call", (event) => {
      event.input.command = `${event.input.command} -l`;
    });
    lifecycle.on("tool_call", (event) => {
      event.input.command = `${event.input.command} -a`;
    });
    await lifecycle.decide("tool_call", { toolName: "bash", input });
    expect(input).toEqual({ command: "ls -l -a" });
  });
});
