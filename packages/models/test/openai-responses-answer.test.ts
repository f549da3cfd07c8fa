import { describe, expect, test } from "vitest";
import { MALFORMED_ARGUMENTS } from "../src/call-arguments.ts";
import {
  endedCalls,
  exchange,
  gpt,
  reasoningItem,
  responseEnd,
  responsesOf,
  streamOf,
} from "./openai-exchange.ts";
import { type Exchange, failureOf } from "./provider-exchange.ts";
import { served } from "./served.ts";

async function ask(...events: Record<string, unknown>[]): Promise<Exchange> {
  return exchange((await served(responsesOf(events))).url, { model: gpt });
}

describe("answers", () => {
  test("thinking, text and parallel calls, as OpenAI sends them", async () => {
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      phase: "commentary",
      content: [{ type: "output_text", text: "Reading." }],
    };
    const call = (id: string, path: string) => ({
      id: `fc_${id}`,
      type: "function_call",
      call_id: id,
      name: "read",
      arguments: JSON.stringify({ path }),
    });
    const result = await ask(
      {
        type: "response.created",
        response: { id: "resp_1", model: "gpt-5.2-2026-01-01", status: "in_progress" },
      },
      { type: "response.in_progress", response: { id: "resp_1", status: "in_progress" } },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...reasoningItem, summary: [], encrypted_content: "part" },
      },
      { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0 },
      { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "I " },
      { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "see" },
      { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 1 },
      { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "more" },
      { type: "response.output_item.done", output_index: 0, item: reasoningItem },
      { type: "response.output_item.added", output_index: 1, item: { ...message, content: [] } },
      { type: "response.output_text.delta", output_index: 1, delta: "Read" },
      { type: "response.output_text.delta", output_index: 1, delta: "ing." },
      { type: "response.output_item.done", output_index: 1, item: message },
      {
        type: "response.output_item.added",
        output_index: 2,
        item: { ...call("call_a", "a.ts"), arguments: "" },
      },
      {
        type: "response.output_item.added",
        output_index: 3,
        item: { ...call("call_b", "b.ts"), arguments: "" },
      },
      { type: "response.function_call_arguments.delta", output_index: 3, delta: '{"path":"b.ts"}' },
      { type: "response.function_call_arguments.delta", output_index: 2, delta: '{"path":' },
      { type: "response.function_call_arguments.delta", output_index: 2, delta: '"a.ts"}' },
      { type: "response.output_item.done", output_index: 2, item: call("call_a", "a.ts") },
      { type: "response.output_item.done", output_index: 3, item: call("call_b", "b.ts") },
      responseEnd({
        model: "gpt-5.2-2026-01-01",
        usage: {
          input_tokens: 1_000,
          input_tokens_details: { cached_tokens: 600, cache_write_tokens: 0 },
          output_tokens: 100,
          output_tokens_details: { reasoning_tokens: 40 },
          total_tokens: 1_100,
        },
      }),
    );
    expect(result.error).toBeUndefined();
    expect(result.message).toMatchObject({
      content: [
        { type: "thinking", thinking: "I see\n\nmore", thinkingSignature: JSON.stringify(reasoningItem) },
        {
          type: "text",
          text: "Reading.",
          textSignature: JSON.stringify({ v: 1, id: "msg_1", phase: "commentary" }),
        },
        { type: "toolCall", id: "call_a", name: "read", arguments: { path: "a.ts" } },
        { type: "toolCall", id: "call_b", name: "read", arguments: { path: "b.ts" } },
      ],
      stopReason: "toolUse",
      rawStopReason: "completed",
      responseId: "resp_1",
      responseModel: "gpt-5.2-2026-01-01",
      usage: { input: 400, cacheRead: 600, cacheWrite: 0, output: 100, reasoning: 40, totalTokens: 1_100 },
    });
    expect(result.message.usage.cost.total).toBeCloseTo((400 * 2 + 600 * 0.2 + 100 * 16) / 1e6, 12);
    expect(endedCalls(result).map(({ id }) => id)).toEqual(["call_a", "call_b"]);
  });

  test("two messages in a row stay apart", async () => {
    const result = await ask(
      { type: "response.output_text.delta", output_index: 0, delta: "On my way." },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { id: "msg_1", type: "message", phase: "commentary" },
      },
      { type: "response.output_text.delta", output_index: 1, delta: "Done." },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { id: "msg_2", type: "message", phase: "final_answer" },
      },
      responseEnd(),
    );
    expect(result.message.content.map((block) => block.type === "text" && block.text)).toEqual([
      "On my way.",
      "Done.",
    ]);
  });

  test("items that come whole", async () => {
    const result = await ask(
      { type: "response.output_item.done", output_index: 0, item: reasoningItem },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { type: "message", content: [{ type: "output_text", text: "Hi" }] },
      },
      {
        type: "response.output_item.done",
        output_index: 2,
        item: { type: "function_call", call_id: "a", name: "ls", arguments: "" },
      },
      responseEnd(),
    );
    expect(result.message.content).toMatchObject([
      { type: "thinking", thinking: "I see" },
      { type: "text", text: "Hi" },
      { type: "toolCall", id: "a", name: "ls", arguments: {} },
    ]);
  });

  test("an answer in one piece, whatever was asked", async () => {
    const { response } = responseEnd({
      output: [{ type: "message", content: [{ type: "output_text", text: "Hi" }] }],
    });
    const server = await served({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(response)],
    });
    const { message, error } = await exchange(server.url, { model: gpt });
    expect(error).toBeUndefined();
    expect(message).toMatchObject({
      content: [{ type: "text", text: "Hi" }],
      stopReason: "stop",
      responseId: "resp_1",
    });
  });

  test("thinking without a word of it is kept, encrypted", async () => {
    const item = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "xyz" };
    const { message } = await ask(
      { type: "response.output_item.done", output_index: 0, item },
      responseEnd(),
    );
    expect(message.content).toEqual([
      { type: "thinking", thinking: "", thinkingSignature: JSON.stringify(item), redacted: true },
    ]);
  });

  test("a refusal is text; arguments that are no JSON are marked; unknown events are passed over", async () => {
    const { message } = await ask(
      { type: "response.refusal.delta", output_index: 0, delta: "I will not." },
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { type: "function_call", call_id: "a", name: "read" },
      },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: "{nope" },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { type: "function_call", call_id: "a", name: "read", arguments: "{nope" },
      },
      { type: "response.of_tomorrow", delta: "x" },
      responseEnd(),
    );
    expect(message.content).toMatchObject([
      { type: "text", text: "I will not." },
      { type: "toolCall", arguments: { [MALFORMED_ARGUMENTS]: "{nope" } },
    ]);
  });

  test.each([
    [{ reason: "max_output_tokens" }, "length", "max_output_tokens"],
    [{ reason: "content_filter" }, "stop", "content_filter"],
    [null, "length", "max_output_tokens"],
  ])("an incomplete response, %j", async (incomplete_details, stopReason, rawStopReason) => {
    const { message, error } = await ask(
      { type: "response.output_text.delta", output_index: 0, delta: "Half" },
      responseEnd({ status: "incomplete", incomplete_details }),
    );
    expect(error).toBeUndefined();
    expect(message).toMatchObject({ stopReason, rawStopReason });
  });

  test("a cancelled response is cut", async () => {
    expect(failureOf(await ask(responseEnd({ status: "cancelled" })))).toMatchObject({
      kind: "cut",
      code: "cancelled",
    });
  });

  test("a server that leaves out the last event but says [DONE] has answered", async () => {
    const server = await served(
      streamOf([{ type: "response.output_text.delta", output_index: 0, delta: "Yes." }, "[DONE]"]),
    );
    const { message, error } = await exchange(server.url, { model: gpt });
    expect(error).toBeUndefined();
    expect(message.stopReason).toBe("stop");
  });
});
