import {
  type AssistantMessage,
  chars4Estimator,
  emptyUsage,
  estimateContextTokens,
  type Message,
  type Usage,
} from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { describe, expect, it } from "vitest";

const usageOf = (totalTokens: number): Usage => ({ ...emptyUsage(), input: totalTokens, totalTokens });
const user = (text: string): Message => ({ role: "user", content: text, timestamp: 0 });
const answer = (totalTokens: number, stopReason = "stop"): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text: "12345678" }],
  api: "a",
  provider: "p",
  model: "m",
  usage: usageOf(totalTokens),
  stopReason,
  timestamp: 0,
});
const result = (text: string): Message => ({
  role: "toolResult",
  toolCallId: "1",
  toolName: "bash",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: 0,
});
const context = (messages: Message[], staleBefore = 0, overheadTokens?: number) =>
  estimateContextTokens({
    messages,
    estimator: chars4Estimator,
    isStale: (index) => index < staleBefore,
    ...(overheadTokens === undefined ? {} : { overheadTokens: () => overheadTokens }),
  });

describe("the tokens of the context", () => {
  it("are a good usage of 1,000 and 2,500 for the 10,000 characters after it", () => {
    expect(context([user("x"), answer(1000), result("x".repeat(10_000))])).toEqual({
      tokens: 3500,
      source: "usage",
      usageIndex: 1,
      trailingTokens: 2500,
    });
  });

  it("are estimates alone, marked as such, where there is no usage", () => {
    expect(context([])).toEqual({ tokens: 0, source: "estimate", trailingTokens: 0 });
    expect(context([user("12345"), user("1234")])).toEqual({
      tokens: 3,
      source: "estimate",
      trailingTokens: 3,
    });
  });

  it("do not believe a usage far above the context", () => {
    for (const tokens of [1e15, 2_000_000_000, 900_000]) {
      const words = [user("x"), answer(1000), user("y".repeat(400))];
      expect.soft(context([...words, answer(tokens)]), `${tokens}`).toEqual({
        ...{ tokens: 1102, source: "usage", usageIndex: 1 },
        trailingTokens: 102,
      });
      expect
        .soft(context([user("x"), answer(tokens)]), `${tokens}`)
        .toMatchObject({ source: "estimate", tokens: 3 });
    }
  });

  it("believe a usage within ten times of what stands before it, and of prompts that no message shows", () => {
    const long = [user("x".repeat(400_000)), answer(900_000)];
    expect(context(long)).toMatchObject({ source: "usage", tokens: 900_000 });
    expect(context([user("x"), answer(190_000)])).toMatchObject({ source: "usage", tokens: 190_000 });
  });

  it("do not believe a usage that counted nothing of the request", () => {
    const onlyOutput = { ...answer(0), usage: { ...emptyUsage(), output: 50, totalTokens: 50 } };
    expect(isGoodAnswer(onlyOutput)).toBe(false);
    expect(context([user("x".repeat(4_000)), onlyOutput])).toMatchObject({
      source: "estimate",
      tokens: 1002,
    });
  });

  it("are estimates alone where the only usage is stale", () => {
    const messages = [user("1234"), answer(190_000), user("12345")];
    expect(context(messages, 2)).toEqual({ tokens: 5, source: "estimate", trailingTokens: 5 });
    expect(context(messages, 1)).toMatchObject({ tokens: 190_002, source: "usage" });
  });

  it("look past answers that failed, were aborted, or reported nothing", () => {
    const bad = [answer(7, "error"), answer(7, "aborted"), answer(0), answer(0, "pending")];
    expect(context([answer(190_000), ...bad])).toEqual({
      tokens: 190_000 + 4 * 2,
      source: "usage",
      usageIndex: 0,
      trailingTokens: 8,
    });
  });

  it("take the latest good usage", () => {
    expect(context([answer(10), answer(20), user("1234")])).toMatchObject({ tokens: 21, usageIndex: 1 });
  });

  it("hold the known overhead only where no usage holds it already", () => {
    expect(context([user("1234")], 0, 1500).tokens).toBe(1501);
    expect(context([answer(10), user("1234")], 0, 1500).tokens).toBe(11);
  });
});

describe("a good answer", () => {
  const answers = [
    ["stop", 5, true],
    ["length", 5, true],
    ["toolUse", 5, true],
    ["a later program's", 5, true],
    ["error", 5, false],
    ["aborted", 5, false],
    ["stop", 0, false],
  ] as const;
  it("has an end and tokens", () => {
    expect(
      answers.map(([stopReason, tokens]) => [stopReason, tokens, isGoodAnswer(answer(tokens, stopReason))]),
    ).toEqual(answers);
  });

  it("is none without a usage", () => {
    const { usage, ...rest } = answer(5);
    expect(isGoodAnswer(rest as AssistantMessage)).toBe(false);
    expect(isGoodAnswer({ ...rest, usage: null } as never)).toBe(false);
    expect(isGoodAnswer(null as never)).toBe(false);
  });
});

describe("a usage that is a multiple of the one before it", () => {
  const talk = (...usages: number[]) =>
    usages.flatMap((tokens) => [user("x".repeat(400)), answer(tokens), result("y".repeat(40))]);

  const jumps = [
    [[5_000, 5_100, 10_400], 5_100],
    [[5_000, 5_100, 20_800], 5_100],
    [[50_000, 50_100, 100_400], 50_100],
  ] as const;
  it("does not count until the next report confirms it", () => {
    for (const [usages, before] of jumps) {
      const found = context(talk(...usages));
      expect.soft(found.tokens, JSON.stringify(usages)).toBe(before + 10 + 100 + 2 + 10);
    }
  });

  it("counts once the next report confirms it", () => {
    expect(context(talk(5_000, 20_400, 20_600)).tokens).toBe(20_610);
  });

  it("stops counting after a lower report", () => {
    expect(context(talk(5_000, 20_400, 5_300)).tokens).toBe(5_310);
  });

  it("counts if the messages between explain it", () => {
    expect(context([user("x"), answer(5_000), user("y".repeat(60_000)), answer(25_000)]).tokens).toBe(25_000);
  });

  it("counts if the report before left out the cached tokens", () => {
    const long = user("y".repeat(60_000));
    expect(context([long, answer(300), user("x"), answer(15_400)]).tokens).toBe(15_400);
  });
});
