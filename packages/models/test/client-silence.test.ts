import { afterEach, describe, expect, test, vi } from "vitest";
import { type Step, says, stage } from "./staged-client.ts";

describe("silence", () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  test("is taken for a dead stream, and the request is repeated", async () => {
    vi.useFakeTimers();
    const silent: Step = async function* (_call, answer) {
      yield answer.text("well");
      await new Promise(() => {});
    };
    const { ask, notices, calls } = stage([silent, says("yes")], { retry: { silenceMs: 90_000 } });
    const final = ask();
    await vi.advanceTimersByTimeAsync(89_999);
    expect(notices).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await final).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    expect(notices).toMatchObject([
      { type: "retry", failure: { message: "The provider sent nothing for 1 min 30 s." } },
    ]);
    expect(calls[0]!.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
  test("is not assumed while the server gives signs of life", async () => {
    vi.useFakeTimers();
    const hidden: Step = async function* (call, answer) {
      for (let minute = 0; minute < 30; minute += 1) {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        call.onAlive();
      }
      yield answer.text("thought over");
    };
    const { ask, notices } = stage([hidden], { retry: { silenceMs: 90_000, contentMs: 0 } });
    const final = ask();
    await vi.advanceTimersByTimeAsync(30 * 60_000);
    expect(await final).toMatchObject({ type: "done", message: { content: [{ text: "thought over" }] } });
    expect(notices).toEqual([]);
  });
  /** Once a minute: a ping, or a piece of an answer. */
  const minutes = (count: number, piece: string | undefined): Step =>
    async function* (call, answer) {
      for (let minute = 0; minute < count; minute += 1) {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        call.onAlive();
        if (piece !== undefined) yield answer.thinking(piece);
      }
      yield answer.text("thought over");
      answer.stop("stop");
    };
  test.each([
    ["before the first content", undefined],
    ["empty pieces", ""],
  ])("signs of life without content for ten minutes count as silence: %s", async (_name, piece) => {
    vi.useFakeTimers();
    const { ask, notices } = stage([minutes(30, piece), says("yes")]);
    const final = ask();
    await vi.advanceTimersByTimeAsync(599_999);
    expect(notices).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await final).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    expect(notices).toMatchObject([
      {
        type: "retry",
        failure: { message: "The provider kept the connection open for 10 min but sent no answer." },
      },
    ]);
  });
  test("the time limit for content starts again with each piece, and ends with a clear error", async () => {
    vi.useFakeTimers();
    const slow = stage([minutes(30, "hm")]);
    const done = slow.ask();
    await vi.advanceTimersByTimeAsync(30 * 60_000);
    expect((await done).type).toBe("done");
    const never = stage([minutes(100, undefined)], { retry: { maxRetries: 1, contentMs: 120_000 } });
    const failed = never.ask();
    await vi.advanceTimersByTimeAsync(4 * 60_000);
    expect(await failed).toMatchObject({
      type: "error",
      failure: {
        message:
          "The provider kept the connection open for 2 min but sent no answer. Gave up after 2 attempts.",
      },
    });
  });
  test("the time that the reader of a stream takes does not count as silence", async () => {
    vi.useFakeTimers();
    const { client, request } = stage([says("yes")], { retry: { silenceMs: 1_000, contentMs: 1_000 } });
    const types: string[] = [];
    const read = (async () => {
      for await (const event of client.stream(request())) {
        types.push(event.type);
        await new Promise((resolve) => setTimeout(resolve, 5_000));
      }
    })();
    await vi.advanceTimersByTimeAsync(60_000);
    await read;
    expect(types).toEqual(["start", "text", "done"]);
  });
  test("a sign of life while nobody waits leaves no timer behind", async () => {
    vi.useFakeTimers();
    const { client, request, calls } = stage([says("yes")]);
    for await (const event of client.stream(request())) {
      if (event.type !== "text") continue;
      calls[0]!.onAlive();
      expect(vi.getTimerCount()).toBe(0);
    }
    calls[0]!.onAlive();
    expect(vi.getTimerCount()).toBe(0);
  });
});
