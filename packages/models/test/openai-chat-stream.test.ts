import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { MALFORMED_ARGUMENTS } from "../src/call-arguments.ts";
import {
  callDelta,
  chat,
  delta,
  endedCalls,
  exchange,
  finish,
  local,
  streamOf,
  usageChunk,
  whole,
} from "./openai-exchange.ts";
import { failureOf } from "./provider-exchange.ts";
import { served } from "./served.ts";

describe("text and thinking", () => {
  test("pieces become one block each, and the message has who answered", async () => {
    const result = await chat(
      delta({ role: "assistant", content: "" }),
      delta({ reasoning_content: "Let me " }),
      delta({ reasoning_content: "see." }),
      delta({ content: "Good " }),
      delta({ content: "day." }),
      { ...finish(), model: "qwen3-32b" },
      "[DONE]",
    );
    expect(result.error).toBeUndefined();
    expect(result.message).toMatchObject({
      content: [
        { type: "thinking", thinking: "Let me see." },
        { type: "text", text: "Good day." },
      ],
      stopReason: "stop",
      rawStopReason: "stop",
      responseId: "chatcmpl-1",
      responseModel: "qwen3-32b",
    });
    expect(result.events.map(({ type }) => type)).toEqual(["thinking", "thinking", "text", "text"]);
  });

  test("thinking is read from every field that servers use", () =>
    everyRow([
      ["reasoning_content", { reasoning_content: "hm" }],
      ["reasoning", { reasoning: "hm" }],
      ["reasoning_text", { reasoning_text: "hm" }],
      ["two names for the same", { reasoning_content: "hm", reasoning: "hm" }],
      ["Mistral's parts", { content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }],
    ])(async ([, part]) => {
      const { message } = await chat(
        delta(part),
        delta({ content: [{ type: "text", text: "Yes." }] }),
        finish(),
        "[DONE]",
      );
      expect(message.content).toEqual([
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "Yes." },
      ]);
    }));

  test("OpenRouter's record of thinking is kept, put together, in the signature", async () => {
    const { message } = await chat(
      delta({ reasoning: "I ", reasoning_details: [{ type: "reasoning.summary", summary: "I ", index: 0 }] }),
      delta({
        reasoning: "see",
        reasoning_details: [{ type: "reasoning.summary", summary: "see", index: 0 }],
      }),
      delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "xyz", index: 0, id: "rs_1" }] }),
      delta({ content: "Yes." }),
      finish(),
    );
    const reasoning_details = [
      { type: "reasoning.summary", summary: "I see", index: 0 },
      { type: "reasoning.encrypted", data: "xyz", index: 0, id: "rs_1" },
    ];
    expect(message.content[0]).toEqual({
      type: "thinking",
      thinking: "I see",
      thinkingSignature: JSON.stringify({ reasoning_details }),
    });
  });

  test("a refusal is text", async () => {
    const { message } = await chat(delta({ refusal: "I will " }), delta({ refusal: "not." }), finish());
    expect(message.content).toEqual([{ type: "text", text: "I will not." }]);
  });

  test("an answer in one piece, whatever was asked", async () => {
    const completion = {
      id: "c",
      choices: [{ index: 0, message: { content: "Hi\nthere" }, finish_reason: "stop" }],
    };
    const server = await served({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(completion, undefined, 2)],
    });
    const { message, error } = await exchange(server.url);
    expect(error).toBeUndefined();
    expect(message).toMatchObject({ content: [{ type: "text", text: "Hi\nthere" }], stopReason: "stop" });
  });
});

describe("stop reasons", () => {
  test("a finish reason after text has its stop reason, and is kept as it came", () =>
    everyRow([
      ["stop", "stop"],
      ["length", "length"],
      ["max_tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["content_filter", "stop"],
      ["sensitive", "stop"],
      ["eos", "stop"],
      ["tool_calls", "stop"],
    ])(async ([raw, stopReason]) => {
      const { message, error } = await chat(delta({ content: "Half" }), finish(raw), "[DONE]");
      expect(error).toBeUndefined();
      expect(message).toMatchObject({ stopReason, rawStopReason: raw });
    }));

  test("stop after calls is the use of tools", async () => {
    const { message } = await chat(callDelta({ index: 0, id: "a", function: whole }), finish("stop"));
    expect(message).toMatchObject({ stopReason: "toolUse", rawStopReason: "stop" });
  });

  test("a call that the cap cut off is not run", async () => {
    const { message } = await chat(
      callDelta({ index: 0, id: "a", function: { name: "read", arguments: '{"pa' } }),
      finish("length"),
    );
    expect(message.stopReason).toBe("length");
    expect(message.content).toMatchObject([{ arguments: { [MALFORMED_ARGUMENTS]: '{"pa' } }]);
  });

  test("an answer without content that a content filter ended is a refusal", async () => {
    const result = await chat(finish("content_filter"), "[DONE]");
    expect(failureOf(result)).toMatchObject({ kind: "refused", code: "content_filter", status: undefined });
  });

  test("a finish reason of a broken server is a failure", () =>
    everyRow([
      ["network_error", "cut", undefined],
      ["insufficient_system_resource", "cut", undefined],
    ])(async ([raw, kind, status]) => {
      const result = await chat(delta({ content: "Half" }), finish(raw), "[DONE]");
      expect(failureOf(result)).toMatchObject({ kind, status, code: raw });
    }));

  test("an error of a choice is reported", async () => {
    const choice = {
      index: 0,
      delta: {},
      finish_reason: "error",
      error: { code: 502, message: "Upstream died" },
    };
    const result = await chat(delta({ content: "Half" }), { id: "x", choices: [choice] }, "[DONE]");
    expect(failureOf(result)).toMatchObject({ kind: "refused", status: 502, message: "Upstream died" });
  });

  test("a server that gives no reason but says [DONE] has answered", async () => {
    const text = await chat(delta({ content: "Yes." }), "[DONE]");
    expect(text.error).toBeUndefined();
    expect(text.message.stopReason).toBe("stop");
    const calling = await chat(callDelta({ index: 0, id: "a", function: whole }), "[DONE]");
    expect(calling.message.stopReason).toBe("toolUse");
    expect(endedCalls(calling)).toHaveLength(1);
  });

  test("a text that contains [DONE] does not end the stream", async () => {
    const result = await chat(delta({ content: "\ndata: [DONE]" }));
    expect(failureOf(result)).toMatchObject({ kind: "cut" });
  });

  test("[DONE] without anything before it is a cut", async () => {
    expect(failureOf(await chat("[DONE]"))).toMatchObject({ kind: "cut" });
  });
});

describe("usage", () => {
  const counted = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

  test("counts are read in every form", () =>
    everyRow<[string, Record<string, unknown>, Record<string, unknown>]>([
      ["plain", counted, { input: 1_000, output: 100, cacheRead: 0, totalTokens: 1_100 }],
      [
        "OpenAI's cached and thought",
        {
          ...counted,
          prompt_tokens_details: { cached_tokens: 600 },
          completion_tokens_details: { reasoning_tokens: 40 },
        },
        { input: 400, cacheRead: 600, output: 100, reasoning: 40, totalTokens: 1_100 },
      ],
      ["DeepSeek's hits", { ...counted, prompt_cache_hit_tokens: 900 }, { input: 100, cacheRead: 900 }],
      ["Moonshot's cached", { ...counted, cached_tokens: 900 }, { input: 100, cacheRead: 900 }],
      [
        "OpenRouter's writes",
        { ...counted, prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 } },
        { input: 100, cacheRead: 600, cacheWrite: 300 },
      ],
      [
        "thinking outside of the output",
        {
          prompt_tokens: 1_000,
          completion_tokens: 100,
          total_tokens: 1_500,
          completion_tokens_details: { reasoning_tokens: 400 },
        },
        { input: 1_000, output: 500, reasoning: 400, totalTokens: 1_500 },
      ],
      ["a total alone beside the output", { completion_tokens: 100, total_tokens: 1_100 }, { output: 100 }],
      ["more cached than sent", { ...counted, cached_tokens: 5_000 }, { input: 0, cacheRead: 1_000 }],
      ["nulls", { ...counted, prompt_tokens_details: null }, { input: 1_000, cacheRead: 0 }],
    ])(async ([, usage, expected]) => {
      const { message } = await chat(delta({ content: "Yes." }), finish(), usageChunk(usage), "[DONE]");
      expect(message.usage).toMatchObject(expected);
      expect(message.usage.cost.total).toBeGreaterThan(0);
    }));

  test.each([
    ["in the choice", { choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: counted }] }],
    [
      "in Groq's own field",
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], x_groq: { usage: counted } },
    ],
  ])("%s", async (_name, last) => {
    const { message } = await chat(delta({ content: "Yes." }), last, "[DONE]");
    expect(message.usage).toMatchObject({ input: 1_000, output: 100 });
  });

  test("the answer is kept, without its usage, when the connection is lost after the finish reason", async () => {
    const server = await served(streamOf([delta({ content: "Yes." }), finish()], "cut"));
    const { message, error } = await exchange(server.url, { model: local });
    expect(error).toBeUndefined();
    expect(message).toMatchObject({ content: [{ type: "text", text: "Yes." }], stopReason: "stop" });
  });
});
