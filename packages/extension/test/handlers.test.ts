import { expect, test, vi } from "vitest";
import type { ExtensionAPI, ExtensionContext } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";

test("handlers run in load order, then registration order, with a current context", async () => {
  const order: string[] = [];
  const named = (name: string) => (bonsai: ExtensionAPI) => {
    for (const part of [1, 2])
      bonsai.on("input", (event, ctx) => {
        order.push(`${name}${part} ${event.text} ${ctx.isIdle()} ${ctx.signal?.aborted}`);
      });
  };
  await using session = await openTestSession({ extensions: [named("a"), named("b")], answers: ["Hi."] });
  await session.prompt("Hello");
  expect(order).toEqual(["a1", "a2", "b1", "b2"].map((name) => `${name} Hello false false`));
});

test("a handler that throws is named, and the event continues; with onError cancel it refuses", async () => {
  const guard = (bonsai: ExtensionAPI) => {
    bonsai.on("session_before_compact", () => Promise.reject(new Error("not today")), { onError: "cancel" });
    bonsai.on("input", () => {
      throw new Error("no ears");
    });
  };
  await using session = await openTestSession({
    extensions: guard,
    answers: () => "Word ".repeat(200),
    settings: { compaction: { keepRecentTokens: 1 } },
  });
  await session.prompt("And before that?");
  expect(await session.prompt("Hello")).toMatchObject({ status: "done" });
  expect(await session.agent.compact()).toMatchObject({ status: "cancelled" });
  expect(session.notices.map(({ code, message }) => `${code} ${message}`)).toEqual([
    "handler_error inline:guard-1 failed in input: no ears",
    "handler_error inline:guard-1 failed in input: no ears",
    "handler_error inline:guard-1 failed in session_before_compact: not today",
  ]);
});

test("an unknown event is one notice, with the closest name", async () => {
  const asking = (bonsai: ExtensionAPI) => {
    const on = bonsai.on as (event: string, handler: () => void) => () => void;
    on("agent_ended", () => {})();
    on("agent_ended", () => {});
    on("weather", () => {});
  };
  await using session = await openTestSession({ extensions: asking });
  expect(session.notices.map(({ message }) => message)).toEqual([
    "inline:asking-1 listens to agent_ended, which is not an event. Did you mean agent_end or agent_start?",
    "inline:asking-1 listens to weather, which is not an event.",
  ]);
  expect(session.notices[0]?.code).toBe("extension_event_unknown");
});

test("a handler that hangs is named after 30 s, and abandoned when its signal aborts", async () => {
  vi.useFakeTimers();
  try {
    const called = Promise.withResolvers<AbortSignal>();
    const hanging = (bonsai: ExtensionAPI) => {
      bonsai.on("tool_call", (_event, { signal }: ExtensionContext) => {
        called.resolve(signal!);
        return new Promise(() => {});
      });
    };
    const session = await openTestSession({
      extensions: hanging,
      answers: [{ calls: [{ name: "ls" }] }, "Never."],
    });
    const running = session.prompt("Go.");
    const signal = await called.promise;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(session.notices).toEqual([
      {
        level: "warning",
        code: "slow_handler",
        message: "inline:hanging-1 has been handling tool_call for 30 s",
      },
    ]);
    expect(signal.aborted).toBe(false);
    const stopped = session.agent.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    await stopped;
    expect(signal.aborted).toBe(true);
    expect(await running).toMatchObject({ status: "aborted" });
    expect(session.requests).toHaveLength(1);
    await session.close();
  } finally {
    vi.useRealTimers();
  }
});

test("a removed handler is not called; a second removal does nothing", async () => {
  let count = 0;
  const undos: (() => void)[] = [];
  await using session = await openTestSession({
    extensions(bonsai) {
      const counting = () => {
        count += 1;
      };
      undos.push(bonsai.on("agent_start", counting));
      bonsai.on("agent_start", counting);
    },
    answers: ["One.", "Two."],
  });
  await session.prompt("1");
  for (const undo of [...undos, ...undos]) undo();
  await session.prompt("2");
  expect(count).toBe(3);
});

test("undefined fields of a result count as absent", async () => {
  await using session = await openTestSession({
    extensions(bonsai) {
      bonsai.on("input", ({ text, images }) => ({ action: "transform", text: `${text}!`, images }));
      bonsai.on("tool_result", ({ content, isError, details, usage }) => ({
        content: [...content],
        isError,
        details,
        usage,
      }));
      bonsai.on("session_before_compact", () => ({ cancel: undefined, compaction: undefined }));
    },
    answers: [{ calls: [{ name: "ls" }] }, "Word ".repeat(200)],
    settings: { compaction: { keepRecentTokens: 1 } },
  });
  expect(await session.prompt("Look")).toMatchObject({ status: "done" });
  expect(await session.agent.compact()).toMatchObject({ status: "compacted" });
  expect(session.requests[0]?.messages.at(-1)).toMatchObject({ content: "Look!" });
  expect(session.notices).toEqual([]);
});
