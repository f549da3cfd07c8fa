import type { Message } from "@bonsai-agent/messages";
import { type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { type CatalogueModel, MALFORMED_ARGUMENTS, type ProviderCall } from "../src/index.ts";
import { responsesRequest } from "../src/openai/openai-responses.ts";
import {
  answerOf,
  callOf,
  callOfTool,
  endedCalls,
  exchange,
  gpt,
  local,
  readTool,
  responseEnd,
  responsesOf,
  resultOf,
  streamOf,
  user,
} from "./openai-exchange.ts";
import { type Exchange, failureOf } from "./provider-exchange.ts";

let server: LoopbackServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function ask(...events: Record<string, unknown>[]): Promise<Exchange> {
  server = await loopbackServer(() => responsesOf(events));
  return exchange(server.url, { model: gpt });
}

const atOpenAi: CatalogueModel = { ...gpt, baseUrl: "https://api.openai.com/v1" };

function request(parts: Partial<ProviderCall> = {}) {
  return responsesRequest(callOf({ model: atOpenAi, ...parts }));
}

const reasoningItem = {
  id: "rs_1",
  type: "reasoning",
  summary: [{ type: "summary_text", text: "I see" }],
  encrypted_content: "xyz",
};

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
    server = await loopbackServer(() => ({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(response)],
    }));
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
    server = await loopbackServer(() =>
      streamOf([{ type: "response.output_text.delta", output_index: 0, delta: "Yes." }, "[DONE]"]),
    );
    const { message, error } = await exchange(server.url, { model: gpt });
    expect(error).toBeUndefined();
    expect(message.stopReason).toBe("stop");
  });
});

describe("requests", () => {
  test("nothing is stored; thinking comes back encrypted; the schema is not made strict", () => {
    expect(request({ tools: [readTool], cacheKey: "s-1", thinking: "high", maxOutputTokens: 5 })).toEqual({
      model: "gpt-5.2",
      instructions: "Be brief.",
      input: [{ role: "user", content: [{ type: "input_text", text: "Hello" }] }],
      tools: [{ type: "function", ...readTool, strict: false }],
      max_output_tokens: 16,
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "high", summary: "auto" },
      prompt_cache_key: "s-1",
    });
  });

  test.each<[string, Partial<CatalogueModel>, ProviderCall["thinking"], unknown]>([
    ["no thinking", {}, "off", { effort: "none" }],
    ["the least of a model that always thinks", { id: "o3" }, "off", { effort: "low", summary: "auto" }],
    ["nothing for a model that is not known", { id: "mystery" }, "off", undefined],
    [
      "what all take for a model that is not known",
      { id: "mystery" },
      "xhigh",
      { effort: "high", summary: "auto" },
    ],
    ["nothing for a model that cannot think", { id: "gpt-4.1", reasoning: false }, "high", undefined],
  ])("%s", (_name, parts, thinking, reasoning) => {
    const made = request({ model: { ...atOpenAi, ...parts }, thinking });
    expect(made.reasoning).toEqual(reasoning);
    expect(made.include).toEqual(parts.reasoning === false ? undefined : ["reasoning.encrypted_content"]);
  });

  test("a long cache key is made short, the same each time", () => {
    const [first, second] = ["s".repeat(100), "s".repeat(100)].map(
      (cacheKey) => request({ cacheKey }).prompt_cache_key,
    );
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(second).toBe(first);
  });

  test("every role", () => {
    const answer = answerOf(atOpenAi, [
      { type: "thinking", thinking: "I see", thinkingSignature: JSON.stringify(reasoningItem) },
      {
        type: "text",
        text: "Reading.",
        textSignature: JSON.stringify({ v: 1, id: "msg_1", phase: "commentary" }),
      },
      callOfTool("call_a"),
    ]);
    const messages: Message[] = [
      { role: "compactionSummary", summary: "Before.", tokensBefore: 9, timestamp: 0 },
      {
        role: "bashExecution",
        command: "env",
        output: "K=1",
        cancelled: false,
        truncated: false,
        excludeFromContext: true,
        timestamp: 0,
      },
      user("Go"),
      answer,
      resultOf("call_a"),
    ];
    expect(request({ messages }).input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "Before." }] },
      { role: "user", content: [{ type: "input_text", text: "Go" }] },
      reasoningItem,
      { role: "assistant", content: "Reading.", phase: "commentary" },
      { type: "function_call", call_id: "call_a", name: "read", arguments: '{"path":"a.ts"}' },
      { type: "function_call_output", call_id: "call_a", output: "contents" },
    ]);
  });

  test.each<[string, CatalogueModel]>([
    ["another model", { ...atOpenAi, id: "gpt-6-sol" }],
    ["another provider", { ...atOpenAi, provider: "azure" }],
    ["another protocol", { ...atOpenAi, api: "openai-chat" }],
  ])("what a model signed is nothing to %s", (_name, model) => {
    const answer = answerOf(atOpenAi, [
      { type: "thinking", thinking: "I see", thinkingSignature: JSON.stringify(reasoningItem) },
      {
        type: "text",
        text: "Yes.",
        textSignature: JSON.stringify({ v: 1, id: "msg_1", phase: "final_answer" }),
      },
    ]);
    expect(request({ model, messages: [answer] }).input).toEqual([{ role: "assistant", content: "Yes." }]);
  });

  test.each<[string, string | undefined]>([
    ["is not encrypted", JSON.stringify({ ...reasoningItem, encrypted_content: null })],
    ["is signed in another way", "EqQBCkYIBxgCKkD"],
    ["is damaged", '{"type":'],
    ["is not signed", undefined],
  ])("thinking that %s is left out", (_name, thinkingSignature) => {
    const thinking = {
      type: "thinking" as const,
      thinking: "I see",
      ...(thinkingSignature && { thinkingSignature }),
    };
    const messages = [answerOf(atOpenAi, [thinking, { type: "text", text: "Yes." }])];
    expect(request({ messages }).input).toEqual([{ role: "assistant", content: "Yes." }]);
  });

  test("thinking that led to nothing is left out", () => {
    const thinking = {
      type: "thinking" as const,
      thinking: "I see",
      thinkingSignature: JSON.stringify(reasoningItem),
    };
    expect(request({ messages: [user("Go"), answerOf(atOpenAi, [thinking])] }).input).toHaveLength(1);
  });

  test("images stand in the result where the server takes them, else behind the batch", () => {
    const content = [
      { type: "text" as const, text: "A cat:" },
      { type: "image" as const, data: "aGk=", mimeType: "image/png" },
    ];
    const pictured: Message = {
      role: "toolResult",
      toolCallId: "a",
      toolName: "read",
      content,
      isError: false,
      timestamp: 0,
    };
    const messages = [
      answerOf(local, [callOfTool("a"), callOfTool("b")]),
      pictured,
      resultOf("b"),
      user("Nice"),
    ];
    const picture = { type: "input_image", image_url: "data:image/png;base64,aGk=", detail: "auto" };
    const inside = {
      type: "function_call_output",
      call_id: "a",
      output: [{ type: "input_text", text: "A cat:" }, picture],
    };
    expect((request({ messages }).input as unknown[])[2]).toEqual(inside);
    const elsewhere: CatalogueModel = { ...gpt, provider: "mine", baseUrl: "http://127.0.0.1:1234/v1" };
    expect((request({ model: elsewhere, messages }).input as unknown[]).slice(2)).toEqual([
      { type: "function_call_output", call_id: "a", output: "A cat:" },
      { type: "function_call_output", call_id: "b", output: "contents" },
      {
        role: "user",
        content: [{ type: "input_text", text: "The image of the tool result above:" }, picture],
      },
      { role: "user", content: [{ type: "input_text", text: "Nice" }] },
    ]);
  });

  test("ids of other providers fit, the same for call and result", () => {
    const id = "functions.read:0|fc_1";
    const [call, output] = request({ messages: [answerOf(local, [callOfTool(id)]), resultOf(id)] }).input as {
      call_id: string;
    }[];
    expect(call?.call_id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(output?.call_id).toBe(call?.call_id);
  });

  test("a request begins as the one before it", () => {
    const first = [user("Go"), answerOf(atOpenAi, [callOfTool("a")]), resultOf("a")];
    const before = request({ messages: first });
    const after = request({ messages: [...first, user("More")] });
    expect((after.input as unknown[]).slice(0, 3)).toEqual(before.input);
    expect({ ...after, input: [] }).toEqual({ ...before, input: [] });
  });
});
