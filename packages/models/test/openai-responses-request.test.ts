import type { Message } from "@bonsai-agent/messages";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import { describe, expect, test } from "vitest";
import { vendorCacheRules } from "../src/catalogue/cache-rules.ts";
import type { CatalogueModel, ProviderCall } from "../src/index.ts";
import { responsesRequest } from "../src/openai/openai-responses.ts";
import {
  answerOf,
  callOf,
  callOfTool,
  gpt,
  local,
  readTool,
  reasoningItem,
  resultOf,
  user,
} from "./openai-exchange.ts";

const atOpenAi: CatalogueModel = { ...gpt, baseUrl: "https://api.openai.com/v1" };

function request(parts: Partial<ProviderCall> = {}) {
  return responsesRequest(callOf({ model: atOpenAi, ...parts }));
}

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

  test("from GPT-5.6 on, OpenAI's own server gets breakpoints after the stable part and the summary", () => {
    const cacheRules = vendorCacheRules({ provider: "openai", id: "gpt-5.6-sol" })!;
    const model = { ...atOpenAi, id: "gpt-5.6-sol", cacheRules };
    const summary: Message = { role: "compactionSummary", summary: "Done.", tokensBefore: 1, timestamp: 1 };
    const prompt_cache_breakpoint = { mode: "explicit" };
    const made = request({ model, messages: [summary, user("Go on.")] });
    expect(made.instructions).toBeUndefined();
    expect(made.input).toMatchObject([
      { role: "developer", content: [{ text: "Be brief.", prompt_cache_breakpoint }] },
      { role: "user", content: [{ prompt_cache_breakpoint }] },
      { role: "user", content: [{ text: "Go on." }] },
    ]);
    expect(JSON.stringify(made).match(/prompt_cache_breakpoint/g)).toHaveLength(2);
    const proxy = request({ model: { ...model, baseUrl: local.baseUrl }, messages: [summary] });
    expect(proxy.instructions).toBe("Be brief.");
    expect(JSON.stringify([proxy, request({ model, purpose: "summary" })])).not.toContain("breakpoint");
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
      { role: "user", content: [{ type: "input_text", text: framed(FRAMES.record, "Before.") }] },
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
  ])("the phase of a text is not sent to %s", (_name, model) => {
    const answer = answerOf(atOpenAi, [
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

  test("an answer of nothing but thinking is left out", () => {
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
        content: [
          { type: "input_text", text: "The image of the tool result above:" },
          picture,
          { type: "input_text", text: "[End of the images of tool results.]" },
        ],
      },
      { role: "user", content: [{ type: "input_text", text: "Nice" }] },
    ]);
  });

  test("ids of other providers are made to fit, the same for call and result", () => {
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
