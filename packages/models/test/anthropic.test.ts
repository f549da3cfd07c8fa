import type { Message, ToolCall } from "@bonsai-agent/messages";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ProviderCall } from "../src/index.ts";
import { claude, exchange } from "./anthropic-exchange.ts";
import { failureOf } from "./provider-exchange.ts";

const mock = new LLMock({ port: 0, host: "127.0.0.1" });
let url = "";

beforeAll(async () => {
  url = await mock.start();
});

beforeEach(() => void mock.reset());

afterAll(() => mock.stop());

const tools: ProviderCall["tools"] = [
  {
    name: "read",
    description: "Reads a file",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

function user(content: string): Message {
  return { role: "user", content, timestamp: 0 };
}

function resultOf(call: ToolCall): Message {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text: `the text of ${String(call.arguments.path)}` }],
    isError: false,
    timestamp: 0,
  };
}

describe("against a server that speaks the protocol", () => {
  test("an answer in text", async () => {
    mock.onMessage("Hello", { content: "Good day to you.", usage: { input_tokens: 12, output_tokens: 5 } });
    const { message, events, error } = await exchange(url);
    expect(error).toBeUndefined();
    expect(message.content).toEqual([{ type: "text", text: "Good day to you." }]);
    expect(message).toMatchObject({ stopReason: "stop", usage: { input: 12, output: 5, totalTokens: 17 } });
    expect(events.every((event) => event.type === "text")).toBe(true);
  });

  test("a turn with thinking and parallel calls, answered in the next request", async () => {
    const model = { ...claude, id: "claude-haiku-4-5" };
    mock.onMessage("Compare", {
      toolCalls: ["a.ts", "b.ts"].map((path) => ({ name: "read", arguments: JSON.stringify({ path }) })),
      reasoning: "I need both files.",
      reasoningSignature: "sig-of-thinking",
      redactedThinking: ["ENCRYPTED"],
    });
    const messages: Message[] = [user("Compare a.ts and b.ts")];
    const call = { model, tools, messages, thinking: "high" } as const;
    const { message: first, error } = await exchange(url, call);
    expect(error).toBeUndefined();
    expect(first.stopReason).toBe("toolUse");
    expect(first.content.slice(0, 2)).toEqual([
      { type: "thinking", thinking: "", thinkingSignature: "ENCRYPTED", redacted: true },
      { type: "thinking", thinking: "I need both files.", thinkingSignature: "sig-of-thinking" },
    ]);
    const calls = first.content.filter((block) => block.type === "toolCall");
    expect(calls.map((block) => block.arguments)).toEqual([{ path: "a.ts" }, { path: "b.ts" }]);

    mock.reset();
    mock.on({ toolResultContains: "the text of b.ts" }, { content: "They differ." });
    const next = await exchange(url, { ...call, messages: [...messages, first, ...calls.map(resultOf)] });
    expect(next.error).toBeUndefined();
    expect(next.message.content).toEqual([{ type: "text", text: "They differ." }]);
  });

  test("a refusal", async () => {
    mock.nextRequestError(429, { message: "Slow down", type: "rate_limit_error" });
    expect(failureOf(await exchange(url))).toMatchObject({
      kind: "refused",
      status: 429,
      message: "Slow down",
    });
  });
});
