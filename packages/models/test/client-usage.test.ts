import type { Usage } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import type { AnswerBuilder } from "../src/answer-builder.ts";
import type { ModelRequest } from "../src/model-request.ts";
import { ProviderError } from "../src/provider.ts";
import { refuses, type Step, says, stage } from "./staged-client.ts";

describe("the usage of a void attempt is reported", () => {
  const cut = (counts: Parameters<AnswerBuilder["setUsage"]>[0]): Step =>
    async function* (_call, answer) {
      answer.setUsage(counts);
      yield answer.text("half");
      throw new ProviderError({ kind: "cut", message: "The stream ended." });
    };
  const asking = async (steps: Step[], change: Partial<ModelRequest> = {}) => {
    const told: Usage[] = [];
    const onVoidedUsage = (usage: Usage) => void told.push(usage);
    return { told, final: await stage(steps).ask({ onVoidedUsage, ...change }) };
  };
  test("each by itself, and the answer's usage is its own", async () => {
    const { told, final } = await asking([
      cut({ input: 1_000_000, output: 5 }),
      cut({ cacheRead: 10_000_000 }),
      says("yes"),
    ]);
    expect(told.map(({ totalTokens }) => totalTokens)).toEqual([1_000_005, 10_000_000]);
    expect(told.map(({ cost }) => cost.total)).toEqual([1.00001, 1]);
    expect(final).toMatchObject({ type: "done", message: { usage: { totalTokens: 110 } } });
  });
  test("not where nothing was used, and not for the last attempt, whose message has it", async () => {
    const { told } = await asking([cut({}), refuses("no", { status: 400 })]);
    expect(told).toEqual([]);
    const last = await asking([cut({ input: 7 })]);
    expect(last.told).toHaveLength(5);
    expect(last.final).toMatchObject({ type: "error", message: { usage: { input: 7 } } });
  });
  test("a listener that throws is the stream's error", async () => {
    const onVoidedUsage = () => {
      throw new Error("the disk is full");
    };
    const { final } = await asking([cut({ input: 7 }), says("yes")], { onVoidedUsage });
    expect(final).toMatchObject({ type: "error", failure: { message: "the disk is full" } });
  });
});

test("every answer has its cost, a failed one too", async () => {
  const half: Step = async function* (_call, answer) {
    answer.setUsage({ input: 1_000_000, output: 500_000 });
    yield answer.text("half");
    throw new ProviderError({ kind: "refused", status: 400, message: "no" });
  };
  const { ask } = stage([half]);
  expect((await ask()).message.usage.cost.total).toBe(2);
});
