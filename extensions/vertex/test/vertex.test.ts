import { offeredModels } from "@bonsai-agent/extension/testing";
import type { LoopbackReply } from "@bonsai-agent/testkit";
import { describe, expect, test, vi } from "vitest";
import vertex from "../index.ts";
import { ask, chunk, googleEnvironment, hi, refusal, streamed } from "./loopback-gemini.ts";

describe("what comes", () => {
  test("thoughts, text and parallel calls, with their signatures and counts", async () => {
    const usage = {
      promptTokenCount: 1_000,
      cachedContentTokenCount: 900,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      totalTokenCount: 1_050,
    };
    const { message, failure } = await ask(
      streamed([
        chunk([{ text: "I ", thought: true }]),
        chunk([{ text: "see.", thought: true }]),
        chunk([{ text: "Bo" }]),
        chunk([{ text: "th." }]),
        chunk([{ text: "", thoughtSignature: "dGV4dA==" }]),
        chunk([
          { functionCall: { name: "read", args: { path: "a.ts" }, id: "f1" }, thoughtSignature: "Y2FsbA==" },
          { functionCall: { name: "now" } },
        ]),
        chunk([], "STOP", usage),
      ]),
      { systemPrompt: "S".repeat(4_000) },
    );
    expect(failure).toBeUndefined();
    expect(message).toMatchObject({
      stopReason: "toolUse",
      rawStopReason: "STOP",
      content: [
        { type: "thinking", thinking: "I see." },
        { type: "text", text: "Both.", textSignature: "dGV4dA==" },
        {
          type: "toolCall",
          id: "f1",
          name: "read",
          arguments: { path: "a.ts" },
          thoughtSignature: "Y2FsbA==",
        },
        { type: "toolCall", name: "now", arguments: {} },
      ],
      usage: { input: 100, cacheRead: 900, output: 50, reasoning: 30, totalTokens: 1_050 },
    });
    expect(message.content[3]).toMatchObject({ id: expect.stringMatching(/^call_/) });
  });

  test("signatures go back with what they were on", async () => {
    const first = await ask(
      streamed([
        chunk([{ text: "Hm.", thought: true }]),
        chunk([{ text: "Hi", thoughtSignature: "dGV4dA==" }], "STOP"),
      ]),
    );
    const again = await ask(streamed(hi), {
      messages: [
        { role: "user", content: "1", timestamp: 1 },
        first.message,
        { role: "user", content: "2", timestamp: Date.now() },
      ],
    });
    expect(again.requests[0]?.body).toMatchObject({
      contents: [
        { role: "user" },
        {
          role: "model",
          parts: [
            { thought: true, text: "Hm." },
            { text: "Hi", thoughtSignature: "dGV4dA==" },
          ],
        },
        { role: "user" },
      ],
    });
  });

  test("an answer that is cut off", async () => {
    const { message } = await ask(streamed([chunk([{ text: "Hi" }], "MAX_TOKENS")]));
    expect(message).toMatchObject({ stopReason: "length", rawStopReason: "MAX_TOKENS" });
  });

  test.each([
    ["SAFETY", false],
    ["PROHIBITED_CONTENT", false],
    ["MALFORMED_FUNCTION_CALL", true],
  ])("%s", async (reason, retryable) => {
    const { failure } = await ask(streamed([chunk([], reason)]));
    expect(failure).toMatchObject({ retryable, code: reason });
    expect(failure?.message).toContain(reason);
  });

  test("a prompt that is refused", async () => {
    const { failure } = await ask(streamed([{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }]));
    expect(failure).toMatchObject({ retryable: false, code: "PROHIBITED_CONTENT" });
  });
});

describe("what goes wrong", () => {
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" };

  test("a quota is waited for, as long as Google asks", async () => {
    const limited = refusal(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", [retryInfo]);
    const { notices, failure } = await ask([limited, streamed(hi)], { maxRetries: 1 });
    expect(failure).toBeUndefined();
    expect(notices).toMatchObject([{ type: "retry", delayMs: 7_000, failure: { kind: "rateLimit" } }]);
  });

  test("a context that is too long", async () => {
    const words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    const { failure } = await ask(refusal(400, "INVALID_ARGUMENT", words));
    expect(failure).toMatchObject({ kind: "inputTooLong", status: 400, windowTokens: 1_048_576 });
  });

  test.each([
    ["gemini", 400, "API_KEY_INVALID", "GEMINI_API_KEY"],
    ["gemini", 403, "", "GEMINI_API_KEY"],
    ["vertex", 403, "", "roles/aiplatform.user"],
    ["vertex", 403, "SERVICE_DISABLED", "aiplatform.googleapis.com"],
    ["vertex", 401, "", "gcloud auth application-default login"],
    ["vertex", 404, "", "GOOGLE_CLOUD_LOCATION"],
  ])("%s: %i %s names what to change", async (service, status, reason, words) => {
    const details = reason === "" ? [] : [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason }];
    const model = `${service}/gemini-3.8-flash`;
    const { failure } = await ask(refusal(status, "DENIED", "It is not allowed.", details), { model });
    expect(failure).toMatchObject({ kind: "other", retryable: false, status });
    expect(failure?.message).toContain("It is not allowed.");
    expect(failure?.message).toContain(words);
  });

  test.each([500, 503])("%i may pass", async (status) => {
    const { failure } = await ask(refusal(status, "UNAVAILABLE", "The model is overloaded."));
    expect(failure).toMatchObject({ retryable: true, status });
  });

  test("a page in the place of an answer", async () => {
    const page = {
      status: 502,
      headers: { "content-type": "text/html" },
      chunks: ["<html><title>Bad gateway</title></html>"],
    };
    expect((await ask(page)).failure).toMatchObject({ retryable: true, status: 502 });
  });

  test("an error in mid-stream, a stream that is cut, one that ends too early, and a chunk that is no JSON", async () => {
    const begun = chunk([{ text: "He" }]);
    const replies: LoopbackReply[] = [
      streamed([begun, { error: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded." } }]),
      streamed([begun], "cut"),
      streamed([begun]),
      { ...streamed([begun]), chunks: [...(streamed([begun]).chunks ?? []), "data: {oops\n\n"] },
      { ...streamed([begun]), chunks: [...(streamed([begun]).chunks ?? []), 'data: {"candidates"'] },
    ];
    for (const reply of replies) {
      const { failure, message } = await ask(reply);
      expect(failure).toMatchObject({ kind: "other", retryable: true });
      expect(message.content).toEqual([{ type: "text", text: "He" }]);
    }
  });

  test("an abort ends it at once, before and in the middle", async () => {
    expect((await ask(streamed(hi), { signal: AbortSignal.abort() })).message.stopReason).toBe("aborted");
    const controller = new AbortController();
    const { message } = await ask(streamed([chunk([{ text: "He" }])], "hang"), {
      signal: controller.signal,
      onResponse: () => void setImmediate(() => controller.abort()),
    });
    expect(message.stopReason).toBe("aborted");
  });

  test("nobody answers", async () => {
    const { failure } = await ask(streamed(hi), {}, { GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1" });
    expect(failure).toMatchObject({ kind: "other", retryable: true });
  });
});

describe("what is missing is said before any request", () => {
  test("a project", async () => {
    const variables = { GOOGLE_CLOUD_PROJECT: "" };
    const { failure, requests } = await ask(streamed(hi), { model: "vertex/gemini-3.8-flash" }, variables);
    expect(failure).toMatchObject({ code: "provider_not_set_up", retryable: false });
    expect(failure?.message).toContain("Set GOOGLE_CLOUD_PROJECT");
    expect(requests).toEqual([]);
  });

  test("credentials", async () => {
    const variables = { METADATA_SERVER_DETECTION: "none", CLOUDSDK_CONFIG: "/nonexistent" };
    const { failure, requests } = await ask(streamed(hi), { model: "vertex/gemini-3.8-flash" }, variables);
    expect(failure).toMatchObject({ code: "vertex_no_credentials", retryable: false });
    expect(failure?.message).toContain("gcloud auth application-default login");
    expect(requests).toEqual([]);
  });

  test("a key", async () => {
    const { failure, requests } = await ask(streamed(hi), {}, { GEMINI_API_KEY: "" });
    expect(failure).toMatchObject({ code: "key_missing" });
    expect(requests).toEqual([]);
  });

  test("models are offered by what there is", async () => {
    const providers = async () => new Set((await offeredModels(vertex)).map(({ provider }) => provider));
    googleEnvironment({});
    expect(await providers()).toEqual(new Set());
    googleEnvironment({ GOOGLE_CLOUD_PROJECT: "p" });
    expect(await providers()).toEqual(new Set(["vertex"]));
    googleEnvironment({ GEMINI_API_KEY: "k" });
    expect(await providers()).toEqual(new Set(["gemini"]));
  });

  test("the SDK's words about variables do not reach the console", async () => {
    const warn = vi.spyOn(console, "warn");
    const debug = vi.spyOn(console, "debug");
    await ask(streamed(hi), { model: "vertex/gemini-3.8-flash" }, { GOOGLE_API_KEY: "other-1" });
    expect([...warn.mock.calls, ...debug.mock.calls]).toEqual([]);
    vi.restoreAllMocks();
  });
});
