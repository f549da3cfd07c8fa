import { everyRow, sseChunks } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { exchange, messageStart, streamOf, textBlock } from "./anthropic-exchange.ts";
import { failureOf } from "./provider-exchange.ts";
import { served } from "./served.ts";

function errorBody(
  type: string,
  message: string,
): { type: string; error: { type: string; message: string } } {
  return { type: "error", error: { type, message } };
}

describe("refusals", () => {
  const tooLong = "prompt is too long: 213462 tokens > 200000 maximum";

  test("a refusal carries status, code, message and body", () =>
    everyRow([
      [400, "invalid_request_error", tooLong],
      [401, "authentication_error", "invalid x-api-key"],
      [413, "request_too_large", "Request exceeds the maximum size"],
      [500, "api_error", "Internal server error"],
      [529, "overloaded_error", "Overloaded"],
    ])(async ([status, code, message]) => {
      const body = errorBody(code, message);
      const server = await served({ status, chunks: [JSON.stringify(body)] });
      const result = await exchange(server.url);
      expect(failureOf(result)).toEqual({
        kind: "refused",
        status,
        code,
        message,
        body,
        retryAfterMs: undefined,
      });
      expect(server.requests).toHaveLength(1);
    }));

  test("429 reads how long to wait from its headers", () =>
    everyRow([
      ["retry-after-ms", "1500", 1_500],
      ["retry-after", "7", 7_000],
      ["retry-after", "0.5", 500],
      ["retry-after", "Thu, 01 Jan 1970 00:00:00 GMT", 0],
      ["retry-after", "soon", undefined],
    ])(async ([name, value, retryAfterMs]) => {
      const chunks = [JSON.stringify(errorBody("rate_limit_error", "Slow down"))];
      const server = await served({
        status: 429,
        headers: { [name]: value, "x-should-retry": "true" },
        chunks,
      });
      const result = await exchange(server.url);
      expect(failureOf(result)).toMatchObject({ status: 429, code: "rate_limit_error", retryAfterMs });
      expect(server.requests).toHaveLength(1);
    }));

  test("a refusal with an odd body is reported as it came", () =>
    everyRow([
      ["no body", [], { message: "400 status code (no body)", body: undefined }],
      [
        "a page",
        ["<h1>Bad gateway</h1>"],
        { message: "400 <h1>Bad gateway</h1>", body: "<h1>Bad gateway</h1>" },
      ],
      ["a long page", ["x".repeat(5_000)], { message: `400 ${"x".repeat(499)}…`, body: "x".repeat(5_000) }],
      ["a bare word", ['{"error":"prompt too long"}'], { message: "prompt too long" }],
      ["a detail", ['{"detail":"no such model"}'], { message: "no such model" }],
      ["something else", ['{"oops":1}'], { message: '400 {"oops":1}', body: { oops: 1 } }],
    ])(async ([, chunks, expected]) => {
      const { url } = await served({ status: 400, chunks });
      const result = await exchange(url);
      expect(failureOf(result)).toMatchObject({ kind: "refused", status: 400, code: undefined, ...expected });
    }));

  test("a refusal sent with a status of success is a refusal", async () => {
    const body = errorBody("invalid_request_error", tooLong);
    const { url } = await served({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(body)],
    });
    const result = await exchange(url);
    expect(failureOf(result)).toMatchObject({
      kind: "refused",
      status: 400,
      code: "invalid_request_error",
      message: tooLong,
      body,
    });
  });
});

describe("errors inside the stream", () => {
  test("an error event has the status that the API gives its type", () =>
    everyRow([
      ["overloaded_error", 529],
      ["api_error", 500],
      ["rate_limit_error", 429],
      ["invalid_request_error", 400],
      ["an_error_of_tomorrow", undefined],
    ])(async ([type, status]) => {
      const body = errorBody(type, "Sorry");
      const reply = streamOf([messageStart(), ...textBlock(0, "Half")]);
      const { url } = await served({
        ...reply,
        chunks: [...(reply.chunks ?? []), ...sseChunks([{ event: "error", data: body }])],
      });
      const result = await exchange(url);
      expect(failureOf(result)).toMatchObject({
        kind: "refused",
        status,
        code: type,
        message: "Sorry",
        body,
      });
      expect(result.message.content).toEqual([{ type: "text", text: "Half" }]);
    }));

  test("an error event without JSON, name or words is an error", () =>
    everyRow([
      [
        "no JSON",
        [{ event: "error", data: "upstream broke" }],
        { code: undefined, message: "upstream broke" },
      ],
      [
        "no name",
        [{ data: errorBody("overloaded_error", "Busy") }],
        { code: "overloaded_error", status: 529 },
      ],
      ["nothing to say", [{ event: "error", data: "" }], { code: undefined, status: undefined }],
    ])(async ([, events, expected]) => {
      const result = await exchange((await served({ ...streamOf([]), chunks: sseChunks(events) })).url);
      expect(failureOf(result)).toMatchObject({ kind: "refused", ...expected });
    }));

  test("an event without its fields is garbled", () =>
    everyRow([
      ["message_start", { type: "message_start" }],
      ["content_block_start", { type: "content_block_start", index: 0 }],
      ["message_delta", { type: "message_delta", usage: { output_tokens: 1 } }],
    ])(async ([type, event]) => {
      const result = await exchange((await served(streamOf([event]))).url);
      expect(failureOf(result)).toMatchObject({ kind: "garbled", body: event });
      expect(failureOf(result).message).toContain(type);
    }));

  test("data that is no event is garbled", () =>
    everyRow(["null", "7", "[]", '"x"'])(async (data) => {
      const chunks = sseChunks([{ data }]);
      expect(failureOf(await exchange((await served({ ...streamOf([]), chunks })).url))).toMatchObject({
        kind: "garbled",
      });
    }));

  test("an event that is no JSON is garbled", async () => {
    const { url } = await served({
      headers: { "content-type": "text/event-stream" },
      chunks: ["event: message_start\ndata: {nonsense\n\n"],
    });
    expect(failureOf(await exchange(url))).toMatchObject({ kind: "garbled" });
  });
});
