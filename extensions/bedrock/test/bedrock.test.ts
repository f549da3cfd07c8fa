import { offeredModels } from "@bonsai-agent/extension/testing";
import { describe, expect, test } from "vitest";
import bedrock from "../index.ts";
import { ask, awsEnvironment, frame, refusal, saying, streamed } from "./loopback-bedrock.ts";

const start = (at: number, toolUseId: string, name = "read") =>
  frame("contentBlockStart", { contentBlockIndex: at, start: { toolUse: { toolUseId, name } } });
const delta = (at: number, part: object) =>
  frame("contentBlockDelta", { contentBlockIndex: at, delta: part });
const stop = (at: number) => frame("contentBlockStop", { contentBlockIndex: at });
const end = (stopReason: string) => frame("messageStop", { stopReason });

describe("what comes", () => {
  test("thinking, text and parallel calls, with their signatures and counts", async () => {
    const usage = {
      inputTokens: 20,
      outputTokens: 30,
      totalTokens: 1_050,
      cacheReadInputTokens: 900,
      cacheWriteInputTokens: 100,
    };
    const { message, failure, events } = await ask(
      streamed([
        frame("messageStart", { role: "assistant" }),
        delta(0, { reasoningContent: { text: "I " } }),
        delta(0, { reasoningContent: { text: "see." } }),
        delta(0, { reasoningContent: { signature: "c2ln" } }),
        stop(0),
        delta(1, { text: "Both." }),
        stop(1),
        start(2, "t1"),
        delta(2, { toolUse: { input: '{"path":' } }),
        delta(2, { toolUse: { input: '"a.ts"}' } }),
        stop(2),
        start(3, "t2"),
        stop(3),
        end("tool_use"),
        frame("metadata", { usage, metrics: { latencyMs: 5 } }),
      ]),
      { systemPrompt: "S".repeat(4_000) },
    );
    expect(failure).toBeUndefined();
    expect(message).toMatchObject({
      stopReason: "toolUse",
      rawStopReason: "tool_use",
      content: [
        { type: "thinking", thinking: "I see.", thinkingSignature: "c2ln" },
        { type: "text", text: "Both." },
        { type: "toolCall", id: "t1", name: "read", arguments: { path: "a.ts" } },
        { type: "toolCall", id: "t2", name: "read", arguments: {} },
      ],
      usage: { input: 20, output: 30, cacheRead: 900, cacheWrite: 100, totalTokens: 1_050 },
    });
    expect(message.usage.cost.cacheRead).toBeCloseTo(0.00009);
    expect(events.filter(({ type }) => type === "tool_call").length).toBeGreaterThan(3);
  });

  test("encrypted thinking is kept, and goes back as it came", async () => {
    const redacted = delta(0, {
      reasoningContent: { redactedContent: Buffer.from("hidden").toString("base64") },
    });
    const { message } = await ask(streamed([redacted, stop(0), ...saying("Hi")]));
    expect(message.content[0]).toEqual({
      type: "thinking",
      thinking: "",
      thinkingSignature: Buffer.from("hidden").toString("base64"),
      redacted: true,
    });
    const again = await ask(streamed(saying("Hi")), {
      messages: [
        { role: "user", content: "1", timestamp: 1 },
        message,
        { role: "user", content: "2", timestamp: Date.now() },
      ],
    });
    expect(JSON.stringify(again.requests[0]?.body)).toContain(
      JSON.stringify({ reasoningContent: { redactedContent: Buffer.from("hidden").toString("base64") } }),
    );
  });

  test("arguments that are no JSON are the model's mistake, not the stream's", async () => {
    const broken = delta(0, { toolUse: { input: '{"path":' } });
    const { message, failure } = await ask(streamed([start(0, "t1"), broken, stop(0), end("tool_use")]));
    expect(failure).toBeUndefined();
    expect(message.content[0]).toMatchObject({ arguments: { "bonsai.malformedArguments": '{"path":' } });
  });

  test.each([
    ["max_tokens", "length"],
    ["stop_sequence", "stop"],
  ])("%s ends it as %s", async (reason, stopReason) => {
    const { message } = await ask(streamed([delta(0, { text: "Hi" }), stop(0), end(reason)]));
    expect(message).toMatchObject({ stopReason, rawStopReason: reason });
  });

  test("a window that is full is an overflow", async () => {
    const { failure } = await ask(
      streamed([delta(0, { text: "H" }), stop(0), end("model_context_window_exceeded")]),
    );
    expect(failure).toMatchObject({ kind: "inputTooLong" });
  });

  test("a guardrail is named", async () => {
    const { failure } = await ask(streamed([delta(0, { text: "H" }), stop(0), end("guardrail_intervened")]));
    expect(failure).toMatchObject({ retryable: false, code: "guardrail_intervened" });
    expect(failure?.message).toContain("guardrail of your AWS account");
  });
});

describe("what goes wrong", () => {
  const model = { model: "bedrock/global.anthropic.claude-sonnet-5-5" };

  test("throttling is waited for, and asked again", async () => {
    const { message, requests, notices } = await ask(
      [
        refusal(429, "ThrottlingException", "Too many requests, please wait.", { "retry-after": "2" }),
        streamed(saying("Hi")),
      ],
      { ...model, maxRetries: 2 },
    );
    expect(message.content).toEqual([{ type: "text", text: "Hi" }]);
    expect(requests).toHaveLength(2);
    expect(notices).toMatchObject([{ type: "retry", delayMs: 2_000, failure: { kind: "rateLimit" } }]);
  });

  test.each([
    ["Input is too long for requested model.", "inputTooLong"],
    [
      "The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
      "inputTooLong",
    ],
    ["Malformed input request, please reformat your input and try again.", "other"],
  ])("%s", async (message, kind) => {
    const { failure } = await ask(refusal(400, "ValidationException", message));
    expect(failure).toMatchObject({ kind, retryable: false, status: 400, code: "ValidationException" });
  });

  test.each([
    [
      403,
      "AccessDeniedException",
      "You don't have access to the model with the specified model ID.",
      "bedrock:InvokeModelWithResponseStream",
    ],
    [403, "ExpiredTokenException", "The security token included in the request is expired", "aws sso login"],
    [
      403,
      "UnrecognizedClientException",
      "The security token included in the request is invalid.",
      "AWS_PROFILE",
    ],
    [
      400,
      "ValidationException",
      "Invocation of model ID x with on-demand throughput isn’t supported.",
      "us.global",
    ],
    [404, "ResourceNotFoundException", "Model not found.", "AWS_REGION"],
  ])("%i %s names what to change", async (status, type, message, words) => {
    const { failure } = await ask(refusal(status, type, message));
    expect(failure).toMatchObject({ kind: "other", retryable: false, status, code: type });
    expect(failure?.message).toContain(words);
  });

  test.each([
    [500, "InternalServerException"],
    [503, "ServiceUnavailableException"],
    [424, "ModelErrorException"],
    [429, "ModelNotReadyException"],
    [408, "ModelTimeoutException"],
  ])("%i %s may pass", async (status, type) => {
    const { failure } = await ask(refusal(status, type, "The system could not handle it."));
    expect(failure).toMatchObject({ retryable: true, code: type });
  });

  test.each([
    ["throttlingException", "rateLimit", true],
    ["internalServerException", "other", true],
    ["modelStreamErrorException", "other", true],
    ["serviceUnavailableException", "other", true],
    ["validationException", "other", false],
  ])("%s in mid-stream", async (type, kind, retryable) => {
    const { failure, message } = await ask(
      streamed([delta(0, { text: "He" }), frame(type, { message: "It went wrong." }, "exception")]),
    );
    expect(failure).toMatchObject({ kind, retryable, message: "It went wrong." });
    expect(message.content).toEqual([{ type: "text", text: "He" }]);
  });

  test("an overflow that is told in mid-stream", async () => {
    const { failure } = await ask(
      streamed([
        frame("validationException", { message: "Input is too long for requested model." }, "exception"),
      ]),
    );
    expect(failure).toMatchObject({ kind: "inputTooLong" });
  });

  test("a stream that ends without an end, with a whole frame, in a frame, and by a broken connection", async () => {
    const begun = [delta(0, { text: "He" })];
    const half = frame("messageStop", { stopReason: "end_turn" }).subarray(0, 20);
    for (const reply of [streamed(begun), streamed([...begun, half]), streamed(begun, "cut")]) {
      const { failure, message } = await ask(reply);
      expect(failure).toMatchObject({ kind: "other", retryable: true });
      expect(message.content).toEqual([{ type: "text", text: "He" }]);
    }
  });

  test("a damaged frame, a frame that is no JSON, and a page in the place of a stream", async () => {
    const damaged = Uint8Array.from(
      frame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "He" } }),
    );
    damaged[damaged.length - 1]! ^= 0xff;
    const page = {
      headers: { "content-type": "text/html" },
      chunks: ["<html><title>Sign in</title></html>"],
    };
    for (const reply of [streamed([damaged]), streamed([...saying("Hi").slice(0, 2), damaged]), page]) {
      const { failure } = await ask(reply);
      expect(failure).toMatchObject({ kind: "other", retryable: true });
    }
  });

  test("an abort ends it at once, before and in the middle", async () => {
    const aborted = AbortSignal.abort();
    expect((await ask(streamed(saying("Hi")), { signal: aborted })).message.stopReason).toBe("aborted");
    const controller = new AbortController();
    const { message } = await ask(streamed([delta(0, { text: "He" })], "hang"), {
      signal: controller.signal,
      onResponse: () => void setImmediate(() => controller.abort()),
    });
    expect(message.stopReason).toBe("aborted");
  });

  test("nobody answers", async () => {
    const { failure } = await ask(
      streamed([]),
      {},
      { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: "http://127.0.0.1:1" },
    );
    expect(failure).toMatchObject({ kind: "other", retryable: true });
  });
});

describe("without credentials or a region", () => {
  const none = { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" };

  test("nothing is sent, and the remedy is named", async () => {
    const { failure, requests } = await ask(streamed(saying("Hi")), {}, { ...none, AWS_REGION: "" });
    expect(failure).toMatchObject({ code: "provider_not_set_up", retryable: false });
    expect(failure?.message).toContain("AWS_BEARER_TOKEN_BEDROCK");
    expect(requests).toEqual([]);
  });

  test("a region without credentials may be an instance's role: the SDK is asked, and says what it lacks", async () => {
    const { failure, requests } = await ask(
      streamed(saying("Hi")),
      {},
      { ...none, AWS_REGION: "eu-central-1" },
    );
    expect(failure).toMatchObject({ code: "bedrock_no_credentials", retryable: false });
    expect(failure?.message).toMatch(/from any providers\. Set AWS_REGION .*aws sso login/);
    expect(requests).toEqual([]);
  });

  test("credentials without a region", async () => {
    const { failure } = await ask(streamed(saying("Hi")), {}, { AWS_REGION: "" });
    expect(failure).toMatchObject({ code: "provider_not_set_up" });
    expect(failure?.message).toContain("Set AWS_REGION");
  });

  test("its models are offered only where there are some, with those of the region's geography", async () => {
    awsEnvironment({});
    expect(await offeredModels(bedrock)).toEqual([]);
    awsEnvironment({ AWS_PROFILE: "work", AWS_REGION: "eu-west-1" });
    const ids = (await offeredModels(bedrock)).map(({ id }) => id);
    expect(ids).toContain("global.anthropic.claude-sonnet-5-5");
    expect(ids).toContain("eu.anthropic.claude-sonnet-5-5");
    expect(ids.length).toBeLessThan(25);
  });
});
