import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { classified, type Said } from "./classified.ts";

test("413 before a request that was not parsed means its bytes at Copilot alone; elsewhere the rest counts", () => {
  const message = "413 Failed to parse request: prompt is too long: 213462 tokens > 200000 maximum";
  const kindFrom = (provider: string) => classified(message, { provider, status: 413 }).kind;
  expect(["github-copilot", "anthropic", "any"].map(kindFrom)).toEqual([
    "bytesTooLarge",
    "inputTooLong",
    "inputTooLong",
  ]);
});

describe("a sum of input and output cap", () => {
  const trap =
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 38768 tokens (38768 of text input). Please reduce the length of either one";
  test("is the cap's fault where the estimate of the input says so", () => {
    const asked = { inputTokens: 5_000, maxOutputTokens: 32_000, windowTokens: 200_000 };
    expect(classified(trap, { asked })).toMatchObject({ kind: "outputCapTooLarge", inputTokens: 6_768 });
  });
  test("is the input's fault where the estimate is near the sum", () => {
    const asked = { inputTokens: 36_000, maxOutputTokens: 8_000, windowTokens: 200_000 };
    expect(classified(trap, { asked })).toMatchObject({ kind: "inputTooLong", inputTokens: 38_768 });
  });
  test("without numbers is the cap's fault only where the input fits by far", () => {
    const words = "Please reduce the length of the messages or completion";
    const asked = { maxOutputTokens: 8_000, windowTokens: 16_000 };
    expect(classified(words, { asked: { ...asked, inputTokens: 6_000 } }).kind).toBe("outputCapTooLarge");
    expect(classified(words, { asked: { ...asked, inputTokens: 12_000 } }).kind).toBe("inputTooLong");
    expect(classified(words, { asked: { ...asked, inputTokens: 2_000 } }).kind).toBe("inputTooLong");
  });
  test("a cap above the model's own is not taken for the window", () => {
    const anthropic =
      "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude";
    expect(classified(anthropic)).toMatchObject({ kind: "outputCapTooLarge", outputLimitTokens: 64_000 });
    const openai =
      "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.";
    expect(classified(openai)).toMatchObject({ kind: "outputCapTooLarge", outputLimitTokens: 16_384 });
  });
});

test("reads numbers in every spelling", () =>
  everyRow([
    ["1,048,576", 1_048_576],
    ["1_048_576", 1_048_576],
    ["1.048.576", 1_048_576],
    ["1 048 576", 1_048_576],
    ["1048576", 1_048_576],
  ])(([text, windowTokens]) => {
    expect(classified(`prompt is too long: 2000000 tokens > ${text} maximum`)).toMatchObject({
      windowTokens,
    });
  }));

describe("a 429 without a body", () => {
  const said = { status: 429 } as const;
  const message = "429 status code (no body)";
  test("is a rate limit", () =>
    expect(classified(message, said)).toMatchObject({ kind: "rateLimit", retryable: true }));
  test("is an overflow where the settings say so", () => {
    const failure = classified(message, { ...said, bodyless429IsOverflow: true });
    expect(failure).toMatchObject({ kind: "inputTooLong", retryable: false });
  });
  test("with a body is a rate limit in any case", () => {
    const body = { error: { message: "slow down" } };
    expect(classified("429 slow down", { ...said, body, bodyless429IsOverflow: true }).kind).toBe(
      "rateLimit",
    );
  });
});

test("a failed connection is no refusal, whatever its words are", () =>
  everyRow(["cut", "silence", "network", "garbled"] as const)((kind) => {
    const said = { kind, status: undefined };
    expect(classified("prompt is too long: 213462 tokens > 200000 maximum", said)).toMatchObject({
      kind: "other",
      retryable: true,
    });
  }));

test("an input that fills the window to the last token leaves nothing for any cap", () => {
  const sum = "input length and `max_tokens` exceed context limit: 200000 + 20000 > 200000";
  expect(classified(sum).kind).toBe("inputTooLong");
  expect(classified(sum.replace("200000 +", "199999 +")).kind).toBe("outputCapTooLarge");
});

describe("retryable failures", () => {
  test("decides which errors can be retried", () =>
    everyRow<[string, Said, boolean]>([
      ["overloaded", { status: 529 }, true],
      ["internal error", { status: 500 }, true],
      ["bad gateway", { status: 502 }, true],
      ["request timeout", { status: 408 }, true],
      [
        "Overloaded",
        { status: undefined, body: { type: "error", error: { type: "overloaded_error" } } },
        true,
      ],
      ["no connection", { kind: "network", status: undefined }, true],
      ["cut", { kind: "cut", status: undefined }, true],
      ["silence", { kind: "silence", status: undefined }, true],
      ["slow down, rate limit", { status: 429 }, true],
      [
        "You exceeded your current quota, check your billing details",
        { status: 429, code: "insufficient_quota" },
        false,
      ],
      ["Request too large on tokens per min (TPM): Limit 30000, Requested 40000.", { status: 429 }, false],
      ["Rate limit on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.", { status: 429 }, true],
      ["forbidden", { status: 403 }, false],
    ])(([message, said, retryable]) => {
      expect(classified(message, said).retryable).toBe(retryable);
    }));
});
