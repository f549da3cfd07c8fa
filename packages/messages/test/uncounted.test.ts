import { describe, expect, it, test } from "vitest";
import { answerUsage } from "../src/host.ts";
import {
  type AssistantMessage,
  addUsage,
  CostSum,
  costPhrase,
  emptyUsage,
  type Usage,
} from "../src/index.ts";

const text = [{ type: "text" as const, text: "An answer of some words." }];
const long = [{ type: "text" as const, text: "An answer of some words. ".repeat(40) }];
const call = [{ type: "toolCall" as const, id: "a", name: "read", arguments: { path: "a.ts" } }];

function answer(content: AssistantMessage["content"], counts: Partial<Usage>, usd = 0): AssistantMessage {
  const usage = { ...emptyUsage(), ...counts, cost: { ...emptyUsage().cost, total: usd } };
  const model = { api: "openai-chat", provider: "box", model: "coder" };
  return { role: "assistant", content, ...model, usage, stopReason: "stop", timestamp: 0 };
}

describe("the usage of an answer", () => {
  const uncounted: [string, AssistantMessage][] = [
    ["nothing was reported for a text", answer(text, {})],
    ["nothing was reported for a call", answer(call, {})],
    ["only the input was reported", answer(text, { input: 50 })],
    ["only the output was reported", answer(text, { output: 6 })],
    ["the output was reported at the start of the answer", answer(long, { input: 50, output: 1 })],
  ];
  test("is marked as uncounted if the server reported no counts", () => {
    for (const [name, message] of uncounted) expect.soft(answerUsage(message).isUncounted, name).toBe(true);
  });

  const reported: [string, AssistantMessage][] = [
    ["input and output were reported", answer(text, { input: 50, output: 6 })],
    ["all input came from a cache", answer(text, { cacheRead: 50, output: 6 })],
    ["hidden thinking was counted", answer(text, { input: 50, output: 6_000 })],
    ["the answer is empty, as after a refusal", answer([], {})],
    ["a scenario counts nothing", { ...answer(text, {}), api: "scripted" }],
  ];
  test("keeps its counts", () => {
    for (const [name, message] of reported) expect.soft(answerUsage(message), name).toEqual(message.usage);
  });

  it("keeps the mark in a sum", () => {
    const none = answerUsage(answer(text, {}));
    expect(addUsage(none, answer(text, { input: 50, output: 6 }).usage).isUncounted).toBe(true);
  });
});

describe("the cost of a session whose server does not count", () => {
  const counted = answer(text, { input: 50, output: 6 }, 0.5);
  const sums: [string, AssistantMessage[], string][] = [
    ["every answer", [answer(text, {}), answer(call, {})], "cost unknown"],
    ["all but one answer", [counted, answer(text, {})], "at least $0.50"],
    ["a part of one answer", [answer(text, { input: 50 }, 0.5)], "at least $0.50"],
    ["no refusal", [counted, answer([], {})], "$0.50"],
  ];
  test("is not free", () => {
    for (const [name, answers, expected] of sums) {
      const sum = new CostSum();
      for (const each of answers) sum.add(answerUsage(each), "box/coder");
      expect.soft(costPhrase(sum.cost()), name).toBe(expected);
    }
  });

  it("is free for a model that is known to be free", () => {
    const sum = new CostSum();
    sum.add(answerUsage(answer(text, {})), "box/coder");
    expect(costPhrase(sum.cost(() => true))).toBe("free of charge");
  });
});
