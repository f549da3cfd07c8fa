import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { exchange } from "./openai-exchange.ts";
import { protocols, tooLong } from "./openai-protocols.ts";
import { failureOf } from "./provider-exchange.ts";
import { served } from "./served.ts";

const everyProtocol = everyRow(protocols);

test("a refusal has the code and message of any server", () =>
  everyProtocol(([, model]) =>
    everyRow<[string, number, unknown, Record<string, unknown>]>([
      [
        "OpenAI",
        400,
        { error: { message: tooLong, type: "invalid_request_error", code: "context_length_exceeded" } },
        { code: "context_length_exceeded", message: tooLong },
      ],
      [
        "a type only",
        401,
        { error: { message: "No", type: "auth", code: null } },
        { code: "auth", message: "No" },
      ],
      [
        "llama.cpp",
        400,
        {
          error: {
            code: 400,
            message: "too big",
            type: "exceed_context_size_error",
            n_prompt_tokens: 14_429,
            n_ctx: 8_192,
          },
        },
        { code: "exceed_context_size_error", message: "too big" },
      ],
      [
        "LM Studio",
        400,
        { error: "Trying to keep the first 9 tokens" },
        { message: "Trying to keep the first 9 tokens" },
      ],
      [
        "vLLM",
        400,
        { object: "error", message: "too long", type: "BadRequestError", code: 400 },
        { code: "BadRequestError", message: "too long" },
      ],
      ["FastAPI", 422, { detail: [{ msg: "field required" }] }, { message: '[{"msg":"field required"}]' }],
      [
        "Google",
        429,
        [
          {
            error: {
              code: 429,
              message: "Quota",
              status: "RESOURCE_EXHAUSTED",
              details: [{ retryDelay: "34s" }],
            },
          },
        ],
        { code: "RESOURCE_EXHAUSTED", message: "Quota", retryAfterMs: 34_000 },
      ],
      [
        "OpenRouter",
        502,
        { error: { code: 502, message: "Provider returned error", metadata: { raw: "prompt too long" } } },
        { code: "502", message: "Provider returned error: prompt too long" },
      ],
      ["z.ai", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }, { code: "1261" }],
      ["a server error", 500, { error: { message: "Oh" } }, { message: "Oh", code: undefined }],
      [
        "an overloaded server",
        503,
        { error: { message: "Busy", code: "overloaded" } },
        { code: "overloaded" },
      ],
    ])(async ([, status, body, expected]) => {
      const server = await served({
        status,
        headers: { "content-type": "application/json" },
        chunks: [JSON.stringify(body)],
      });
      const result = await exchange(server.url, { model });
      expect(failureOf(result)).toMatchObject({ kind: "refused", status, body, ...expected });
      expect(server.requests).toHaveLength(1);
      expect(result.responses).toMatchObject([{ status }]);
    }),
  ));

test("429 reads how long to wait from its headers", () =>
  everyProtocol(([, model]) =>
    everyRow([
      ["retry-after-ms", "1500", 1_500],
      ["retry-after", "7", 7_000],
      ["retry-after", "soon", undefined],
    ])(async ([name, value, retryAfterMs]) => {
      const chunks = ['{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}'];
      const server = await served({
        status: 429,
        headers: { [name]: value, "x-should-retry": "true" },
        chunks,
      });
      const result = await exchange(server.url, { model });
      expect(failureOf(result)).toMatchObject({ status: 429, code: "rate_limit_exceeded", retryAfterMs });
      expect(server.requests).toHaveLength(1);
    }),
  ));

test("a refusal without a body is reported without a body", () =>
  everyProtocol(([, model]) =>
    everyRow([400, 413, 429])(async (status) => {
      const result = await exchange((await served({ status })).url, { model });
      expect(failureOf(result)).toEqual({
        kind: "refused",
        status,
        message: `${status} status code (no body)`,
        code: undefined,
        body: undefined,
        retryAfterMs: undefined,
      });
    }),
  ));

test("an HTML page is shown as it came, cut short", () =>
  everyProtocol(async ([, model]) => {
    const page = `<h1>Bad gateway</h1>${"x".repeat(5_000)}`;
    const failure = failureOf(await exchange((await served({ status: 502, chunks: [page] })).url, { model }));
    expect(failure).toMatchObject({ status: 502, body: page });
    expect(failure.message).toMatch(/^502 <h1>Bad gateway<\/h1>x+…$/);
    expect(failure.message?.length).toBeLessThan(600);
  }));

test("a refusal sent with a status of success is a refusal", () =>
  everyProtocol(async ([, model]) => {
    const body = { error: { message: tooLong, code: "context_length_exceeded" } };
    const { url } = await served({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(body)],
    });
    const failure = failureOf(await exchange(url, { model }));
    expect(failure).toMatchObject({
      kind: "refused",
      code: "context_length_exceeded",
      message: tooLong,
      body,
    });
  }));
