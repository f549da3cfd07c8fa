import { type AssistantMessage, emptyUsage, type Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { AnswerBuilder } from "../src/answer-builder.ts";
import { model, refuses, type Step, says, stage } from "./staged-client.ts";

const said = (content: string): Message => ({ role: "user", content, timestamp: 0 });
const answered: AssistantMessage = {
  role: "assistant",
  content: [{ type: "text", text: "Here it is." }],
  api: model.api,
  provider: model.provider,
  model: model.id,
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp: 0,
};

describe("a window that the server names", () => {
  const tooLong = (window: number) => refuses(`prompt is too long: 2000000 tokens > ${window} maximum`);
  test("is learned where it is smaller, and notified once", async () => {
    const { client, ask, notices } = stage([tooLong(40_000)]);
    expect(await ask()).toMatchObject({ failure: { kind: "inputTooLong", windowTokens: 40_000 } });
    await ask();
    expect(notices).toEqual([{ type: "window_learned", fromTokens: 100_000, toTokens: 40_000 }]);
    expect(client.withLearnedWindow(model)).toEqual({
      ...model,
      contextWindow: 40_000,
      declaredWindow: 100_000,
    });
    expect(client.withLearnedWindow({ ...model, id: "another" }).contextWindow).toBe(100_000);
    expect(client.withLearnedWindow({ ...model, contextWindow: 30_000 }).contextWindow).toBe(30_000);
  });
  test("is not learned when it is impossibly small or as large as known", () =>
    everyRow([200_000, 100_000, 99_999, 999])(async (window) => {
      const { client, ask, notices } = stage([tooLong(window)]);
      await ask();
      expect(client.withLearnedWindow(model)).toBe(model);
      expect(notices).toEqual([]);
    }));
  test("is not learned from a refusal that is no overflow", async () => {
    const { client, ask } = stage([refuses("odd", { body: { error: { message: "odd", n_ctx: 8_192 } } })]);
    expect(await ask()).toMatchObject({ failure: { kind: "other", windowTokens: 8_192 } });
    expect(client.withLearnedWindow(model)).toBe(model);
  });
  test("is forgotten for good once a larger request was answered, also where the model came with it", async () => {
    const larger = says("yes", { input: 9_000, output: 10 });
    const { client, ask } = stage([tooLong(2_000), larger, tooLong(2_000), says("yes")]);
    const messages = [{ role: "user" as const, content: "abc ".repeat(9_000), timestamp: 0 }];
    await ask({ messages });
    const sized = client.withLearnedWindow(model);
    expect(sized.contextWindow).toBe(2_000);
    expect((await ask({ messages, model: sized })).type).toBe("done");
    expect(client.withLearnedWindow(sized)).toBe(model);
    await ask({ messages });
    expect(client.withLearnedWindow(model)).toBe(model);
  });
  test("is not learned below a context that the session shows as answered", () =>
    everyRow<[string, Message[]]>([
      ["by usage", [said("begin"), { ...answered, usage: { ...emptyUsage(), input: 30_000, output: 10 } }]],
      ["by estimate", [said("abc ".repeat(60_000)), answered]],
    ])(async ([, messages]) => {
      const { client, ask, notices } = stage([tooLong(20_000), tooLong(40_000)]);
      await ask({ messages: [...messages, said("and now?")] });
      expect(client.withLearnedWindow(model)).toBe(model);
      await ask({ messages: [...messages, said("and now?")] });
      expect(notices).toEqual([{ type: "window_learned", fromTokens: 100_000, toTokens: 40_000 }]);
    }));
  test("is kept when the reported usage is larger than the request can have been", async () => {
    const { client, ask } = stage([tooLong(2_000), says("yes", { input: 90_000, output: 10 })]);
    await ask();
    await ask();
    expect(client.withLearnedWindow(model).contextWindow).toBe(2_000);
  });
  test("is learned where none was known", async () => {
    const { client, ask, notices } = stage([tooLong(8_192)]);
    const unknown = { ...model, contextWindow: undefined };
    await ask({ model: unknown });
    expect(client.withLearnedWindow(unknown).contextWindow).toBe(8_192);
    expect(notices).toEqual([{ type: "window_learned", fromTokens: undefined, toTokens: 8_192 }]);
  });
  test("holds for the next request's cap", async () => {
    const { calls, ask } = stage([tooLong(10_000), says("yes")]);
    await ask();
    await ask({ maxOutputTokens: 20_000 });
    expect(calls[1]!.maxOutputTokens).toBeLessThan(10_000);
    expect(calls[1]!.model.contextWindow).toBe(10_000);
  });
});

describe("an overflow that was reported as a success", () => {
  test.each<[string, Parameters<AnswerBuilder["setUsage"]>[0]]>([
    ["input above the window", { input: 100_001, output: 5 }],
    ["input and cache above the window", { input: 60_000, cacheRead: 40_001, output: 5 }],
  ])("%s", async (_name, usage) => {
    const { ask, notices } = stage([says("fine", usage)]);
    const final = await ask();
    expect(final).toMatchObject({
      type: "error",
      failure: { kind: "inputTooLong", inputTokens: 100_001, windowTokens: 100_000, retryable: false },
      message: { stopReason: "error", usage: { output: 5 }, content: [{ text: "fine" }] },
    });
    expect(final.message.usage.cost.total).toBeGreaterThan(0);
    expect(notices).toEqual([]);
  });
  const stops = (usage: Parameters<AnswerBuilder["setUsage"]>[0], reason: string, raw?: string): Step =>
    async function* (_call, answer) {
      yield* [];
      answer.setUsage(usage);
      answer.stop(reason, raw);
    };
  test("no answer, stopped for length, at 99% of the window", async () => {
    expect(await stage([stops({ input: 99_000 }, "length")]).ask()).toMatchObject({
      failure: { kind: "inputTooLong" },
    });
  });
  test("the provider's own stop reason for a full window", async () => {
    const { ask } = stage([
      stops({ input: 90_000, output: 9_000 }, "length", "model_context_window_exceeded"),
    ]);
    expect(await ask()).toMatchObject({ failure: { kind: "inputTooLong" } });
  });
  test("is not reported below 99% of the window", () =>
    everyRow<[string, Step]>([
      ["exactly the window", says("fine", { input: 50_000, cacheRead: 50_000 })],
      ["length below 99%", says("fine", { input: 98_999 }, "length")],
      ["length with an answer", says("fine", { input: 99_500, output: 1 }, "length")],
    ])(async ([, step]) => {
      expect((await stage([step]).ask()).type).toBe("done");
    }));
  test("is not reported where the window is unknown", async () => {
    const { ask } = stage([says("fine", { input: 10_000_000 })]);
    expect((await ask({ model: { ...model, contextWindow: 0 } })).type).toBe("done");
  });
});
