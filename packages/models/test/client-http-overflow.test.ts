import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { ModelFailure } from "../src/index.ts";
import { ask, chunk, done, json, sse, wires } from "./client-over-http.ts";

const everyWire = everyRow(wires);

test("an overflow in known words is reported at once, and its window learned", () =>
  everyWire(([api, wire]) =>
    everyRow<[string, number, string, number | undefined]>([
      ["Anthropic's", 400, "prompt is too long: 213462 tokens > 150000 maximum", 150_000],
      [
        "OpenAI's",
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130557 tokens.",
        128_000,
      ],
      ["OpenAI's without numbers", 400, "Your input exceeds the context window of this model", undefined],
      ["llama.cpp's, as a broken server", 500, "the request exceeds the available context size", undefined],
    ])(async ([, status, words, window]) => {
      const { end, client, model, waits, server } = await ask(api, [wire.error(status, words)]);
      expect(end).toMatchObject({
        type: "error",
        failure: { kind: "inputTooLong", status },
        message: { errorMessage: words },
      });
      expect(client.withLearnedWindow(model).contextWindow).toBe(window ?? 200_000);
      expect([waits.length, server.requests.length]).toEqual([0, 1]);
    }),
  ));

test("an overflow in unknown words is reported at once, and its window learned", () =>
  everyWire(([api, wire]) =>
    everyRow<[string, number, string, number | undefined]>([
      [
        "a window, a count",
        400,
        "Your messages come to 213,462 tokens; 150,000 is the most this model takes.",
        150_000,
      ],
      ["a code alone", 400, "INPUT_TOO_LONG", undefined],
      ["another language", 422, "输入的 token 数超出模型的最大长度", undefined],
      [
        "413 with a reason of tokens",
        413,
        "Request body too large for the model. Max size: 8000 tokens.",
        8_000,
      ],
      ["413 of text alone", 413, "Payload Too Large", undefined],
    ])(async ([, status, words, window]) => {
      const long = { messages: [{ role: "user" as const, content: "word ".repeat(25_000), timestamp: 0 }] };
      const { end, client, model, waits, server } = await ask(api, [wire.error(status, words)], {}, long);
      expect(end).toMatchObject({ type: "error", failure: { kind: "inputTooLong", status } });
      expect(client.withLearnedWindow(model).contextWindow).toBe(window ?? 200_000);
      expect([waits.length, server.requests.length]).toEqual([0, 1]);
    }),
  ));

test("an error that only resembles an overflow is no overflow", () =>
  everyWire(([api, wire]) =>
    everyRow<[string, number, string, ModelFailure["kind"]]>([
      ["a field", 400, "tools.0.description: longer than the maximum of 1024 characters", "other"],
      ["a key", 401, "The token is too long to be a key", "other"],
      ["a deadline", 400, "context deadline exceeded", "other"],
      ["an image", 400, "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "other"],
      ["no reason, far from the window", 400, "Bad Request", "other"],
    ])(async ([, status, words, kind]) => {
      const { end } = await ask(api, [wire.error(status, words)]);
      expect(end).toMatchObject({ type: "error", failure: { kind, status } });
    }),
  ));

test("a rate in other words is waited for", () =>
  everyWire(async ([api, wire]) => {
    const slow = wire.error(400, "Input tokens per hour limit exceeded");
    const { end, waits } = await ask(api, [slow, wire.text("yes")]);
    expect([end.type, waits.length]).toEqual(["done", 1]);
  }));

test("a cap that is refused in other words is lowered below what the server names", () =>
  everyWire(async ([api, wire]) => {
    const words = "max_tokens is too high. This model can write no more than 4096 tokens.";
    const { end, server } = await ask(api, [wire.error(400, words), wire.text("yes")]);
    expect(end.type).toBe("done");
    expect(server.requests.map(({ body }) => wire.cap(body as Record<string, number>))).toEqual([
      20_000, 4_096,
    ]);
  }));

test("a refusal without a reason is an overflow near the window, by the client's estimate or the caller's count", () =>
  everyWire(async ([api, wire]) => {
    const refusal = wire.error(400, "Bad Request");
    const long = { messages: [{ role: "user" as const, content: "word ".repeat(170_000), timestamp: 0 }] };
    const { end } = await ask(api, [refusal], {}, long);
    expect(end).toMatchObject({ failure: { kind: "inputTooLong", isGuessed: true } });
    const counted = await ask(api, [refusal], {}, { contextTokens: () => 170_000 });
    expect(counted.end).toMatchObject({ failure: { kind: "inputTooLong", isGuessed: true } });
  }));

test("413 leaves an image out, and is an overflow if the text alone is refused too", () =>
  everyWire(async ([api, wire]) => {
    const image = { type: "image" as const, data: "aGVsbG8=", mimeType: "image/png" };
    const withImage = { messages: [{ role: "user" as const, content: [image], timestamp: 0 }] };
    const { end, server } = await ask(api, [wire.error(413, "Payload Too Large")], {}, withImage);
    expect(end).toMatchObject({ failure: { kind: "inputTooLong", isGuessed: true, status: 413 } });
    expect(server.requests.map(({ body }) => JSON.stringify(body).includes(image.data))).toEqual([
      true,
      false,
    ]);
  }));

test("a cap that is too large is lowered", () =>
  everyWire(async ([api, wire]) => {
    const words =
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.";
    const { end, notices, server } = await ask(api, [wire.error(400, words), wire.text("yes")]);
    expect(end.type).toBe("done");
    expect(server.requests.map(({ body }) => wire.cap(body as Record<string, number>))).toEqual([
      20_000, 8_130,
    ]);
    expect(notices.map(({ type }) => type)).toEqual(["window_learned", "output_cap_lowered"]);
  }));

test("a usage above the window reports an overflow as a success", async () => {
  const usage = { prompt_tokens: 200_001, completion_tokens: 2, total_tokens: 200_003 };
  const reply = sse([
    chunk({ role: "assistant", content: "half" }, "stop"),
    { data: { choices: [], usage } },
    done,
  ]);
  const long = { messages: [{ role: "user" as const, content: "word ".repeat(150_000), timestamp: 0 }] };
  const { end, notices } = await ask("openai-chat", [reply], {}, long);
  expect(end).toMatchObject({
    type: "error",
    failure: { kind: "inputTooLong" },
    message: { stopReason: "error", usage: { input: 200_001 } },
  });
  expect(notices).toEqual([]);
});

test("llama.cpp's numbers are read from the fields beside its message", async () => {
  const body = {
    error: {
      code: 400,
      message: "the request exceeds the available context size",
      type: "exceed_context_size_error",
      n_prompt_tokens: 14429,
      n_ctx: 8192,
    },
  };
  const { end } = await ask("openai-chat", [json(400, body)]);
  expect(end).toMatchObject({ failure: { kind: "inputTooLong", inputTokens: 14_429, windowTokens: 8_192 } });
});
