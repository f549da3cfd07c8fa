import type { Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CatalogueModel } from "../src/model.ts";
import type { ModelRequest } from "../src/model-request.ts";
import { model, refuses, says, stage } from "./staged-client.ts";

describe("the output cap", () => {
  const long: Message = { role: "user", content: "word ".repeat(90_000), timestamp: 0 };
  test("leaves room for the input, within the model's limit", () =>
    everyRow<[string, Partial<CatalogueModel>, Partial<ModelRequest>, (tokens: number) => boolean]>([
      ["is the model's", {}, {}, (tokens) => tokens === 20_000],
      ["is 32,000 at most", { maxOutputTokens: 128_000 }, {}, (tokens) => tokens === 32_000],
      [
        "is 32,000 where nothing is known",
        { maxOutputTokens: undefined, contextWindow: undefined },
        {},
        (tokens) => tokens === 32_000,
      ],
      [
        "is what was asked for",
        { maxOutputTokens: 128_000 },
        { maxOutputTokens: 50_000 },
        (tokens) => tokens === 50_000,
      ],
      ["is never above the model's", {}, { maxOutputTokens: 50_000 }, (tokens) => tokens === 20_000],
      ["is what the window leaves", {}, { messages: [long] }, (tokens) => tokens > 1_024 && tokens < 20_000],
      ["is 1,024 at least", { contextWindow: 50_000 }, { messages: [long] }, (tokens) => tokens === 1_024],
      ["is less where less was asked for", {}, { maxOutputTokens: 20 }, (tokens) => tokens === 20],
    ])(async ([, change, request, isRight]) => {
      const { calls, ask } = stage([says("yes")]);
      await ask({ ...request, model: { ...model, ...change } });
      expect(calls[0]!.maxOutputTokens).toSatisfy(isRight);
    }));

  const tooLarge =
    "input length and `max_tokens` exceed context limit: 88059 + 20000 > 100000, decrease input length";
  test("is lowered by the numbers and the request repeated", async () => {
    const { calls, ask, notices, waits } = stage([refuses(tooLarge), says("yes")]);
    expect((await ask()).type).toBe("done");
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 11_941]);
    expect(notices).toEqual([{ type: "output_cap_lowered", fromTokens: 20_000, toTokens: 11_941 }]);
    expect(waits).toEqual([]);
  });
  test("is halved where there are no numbers, and given up after two refusals", async () => {
    const { calls, ask } = stage([refuses("above the maximum allowed number of output tokens")]);
    const final = await ask();
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 10_000, 5_000]);
    expect(final).toMatchObject({ type: "error", failure: { kind: "inputTooLong" } });
  });
  test("is halved when the same refusal comes again after it was lowered by the numbers", async () => {
    const mantle =
      "maximum context length is 100000 tokens. However, you requested 20000 output tokens and your prompt contains at least 80001 input tokens";
    const { calls, ask } = stage([refuses(mantle), refuses(mantle), says("yes")]);
    expect((await ask()).type).toBe("done");
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 19_999, 9_999]);
  });
  test("with no tokens left for an answer the input is too long", async () => {
    const words = "input length and `max_tokens` exceed context limit: 99500 + 20000 > 100000";
    const { calls, ask, notices } = stage([refuses(words)]);
    expect(await ask()).toMatchObject({
      type: "error",
      failure: { kind: "inputTooLong", inputTokens: 99_500 },
    });
    expect(calls).toHaveLength(1);
    expect(notices).toEqual([]);
  });
  test("is lowered to the model's limit where the server names that", async () => {
    const words = "max_tokens: 20000 > 800, which is the maximum allowed number of output tokens for actor";
    const { calls, ask } = stage([refuses(words), says("yes")]);
    expect((await ask()).type).toBe("done");
    expect(calls[1]!.maxOutputTokens).toBe(800);
  });
});

test("an output cap that is refused although it was lowered to the model's limit is no overflow", async () => {
  const words = "max_tokens: 20000 > 800, which is the maximum allowed number of output tokens for actor";
  const { calls, ask } = stage([refuses(words)]);
  expect(await ask()).toMatchObject({ failure: { kind: "outputCapTooLarge", outputLimitTokens: 800 } });
  expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 800, 400]);
});
