import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { classifyFailure } from "../src/failure/classify.ts";
import { ProviderError, type ProviderErrorOptions } from "../src/provider.ts";
import { classified, type Said } from "./classified.ts";

describe("the place of the refusal words", () => {
  const words = "prompt is too long: 213,462 tokens > 200,000 maximum";
  const wrapped = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: words } });
  test("are found wherever an error holds them", () =>
    everyRow<[string, Partial<ProviderErrorOptions>]>([
      ["JSON in the message", { message: `400 ${wrapped}` }],
      ["a body", { message: "400", body: { error: { message: words } } }],
      ["a body that is text", { message: "400", body: wrapped }],
      [
        "JSON in JSON, as gateways nest it",
        { message: "Provider returned error", body: { error: { metadata: { raw: wrapped } } } },
      ],
      ["a list", { message: "", body: { errors: [{ detail: words }] } }],
      ["a cause", { message: "failed", cause: new Error("outer", { cause: new Error(words) }) }],
      ["another status", { message: words, status: 500 }],
      ["no status", { message: words, status: undefined }],
    ])(([, options]) => {
      const failure = classified("", options);
      expect(failure).toMatchObject({
        kind: "inputTooLong",
        inputTokens: 213_462,
        windowTokens: 200_000,
        retryable: false,
      });
    }));

  test("the sentence for people is the innermost one", () => {
    expect(classified(`400 ${wrapped}`).message).toBe(words);
    expect(
      classified("Provider returned error", { body: { error: { metadata: { raw: wrapped } } } }).message,
    ).toContain(words);
  });
  test("a page of HTML is its title", () => {
    const page = "502 <!DOCTYPE html><html><head><title>Bad gateway</title></head><body>quota</body></html>";
    expect(classified(page, { status: 502 })).toMatchObject({
      kind: "other",
      retryable: true,
      message: "502 Bad gateway",
    });
  });
});

describe("an overflow beside words about the account, images or time", () => {
  test("words about the account or an image do not hide an overflow", () =>
    everyRow([
      "Context exceeded. Upgrade your plan.",
      "The context window was exceeded. Upgrade your subscription for a larger window.",
      "Your billing plan has a smaller window: the context exceeds 32,768 tokens.",
      "The attached image exceeded the context of this model.",
    ])((message) => {
      expect(classified(message)).toMatchObject({ kind: "inputTooLong", retryable: false });
    }));

  test("a deadline is no overflow", () =>
    everyRow([
      "Context deadline exceeded. Upgrade your plan.",
      "context deadline exceeded after 30 seconds",
      "Upgrade your plan for a larger context.",
    ])((message) => {
      expect(classified(message)).toMatchObject({ kind: "other" });
    }));
});

describe("errors that only look like an overflow", () => {
  test("words about other limits mean no overflow", () =>
    everyRow<[string, Said]>([
      ["Invalid 'tools[3].description': string too long. Expected a string with maximum length 1024.", {}],
      ["messages.4.content.0: invalid base64 data", {}],
      ["invalid x-api-key", { status: 401 }],
      ["The quotation marks do not match", {}],
      ["model not found: 413b", { status: 404 }],
      ["400 status code (no body)", { provider: "openai" }],
      ["failed to parse request", { provider: "openai" }],
      ["failed to parse request", { provider: "github-copilot" }],
      ["something", { code: "1261", provider: "openai" }],
      [
        "422",
        {
          status: 422,
          body: { detail: [{ msg: "Input should be a string", input: "a tool said: prompt is too long" }] },
        },
      ],
      ["The output was 200000 tokens", {}],
    ])(([message, said]) => {
      expect(classified(message, said)).toMatchObject({ kind: "other", retryable: false });
    }));
});

describe("keys", () => {
  test("secrets are not shown", () =>
    everyRow([
      ["Incorrect API key provided: sk-proj-abcdefgh12345678.", "sk-proj"],
      ["Authorization: Bearer abc.def.ghijklmnop was refused", "ghijklmnop"],
      ["x-api-key: 0123456789abcdef is no key", "0123456789abcdef"],
      ["AIzaSyA1234567890abcdefghijklmnopqrstu is no key", "AIzaSyA"],
      ["Bearer <abc1234567> was refused", "abc1234567"],
      ["glpat-ab****yz is no key", "glpat-ab"],
      ["ghs_abc***xyz is no key", "ghs_abc"],
      ["AKIAIOSFODNN7EXAMPLE is no key", "AKIAIOS"],
      ["npm_abcdef*** is no key", "npm_abc"],
      [`xoxb-${"123456"}-abc is no key`, "123456"],
      ["-----BEGIN PRIVATE KEY-----\nMIIEabcd\n-----END PRIVATE KEY----- is no key", "MIIEabcd"],
    ])(([message, secret]) => {
      const failure = classified(message, { status: 401 });
      expect(failure.message).toContain("[redacted: ");
      expect(JSON.stringify(failure)).not.toContain(secret);
    }));
  test("words that only resemble a secret stay", () =>
    everyRow(["Bearer token is missing", "Authorization: required", "basic authentication needed"])(
      (message) => {
        expect(classified(message, { status: 401 }).message).toBe(message);
      },
    ));
  test("the request's own key is not shown, whatever its shape", () => {
    const error = new ProviderError({
      kind: "refused",
      status: 401,
      message: "no user has hunter2hunter2",
      code: "hunter2hunter2",
    });
    const failure = classifyFailure({ error, provider: "p", modelId: "m", apiKey: "hunter2hunter2" });
    expect(JSON.stringify(failure)).not.toContain("hunter2");
  });
});

test("a body that contains itself, or whose fields throw, is read as far as it goes", () => {
  const body: Record<string, unknown> = { message: "prompt is too long" };
  body.error = body;
  Object.defineProperty(body, "detail", {
    enumerable: true,
    get: () => {
      throw new Error("no");
    },
  });
  expect(classified("400", { body }).kind).toBe("inputTooLong");
});
