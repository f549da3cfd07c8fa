import { everyRow } from "@bonsai-agent/testkit";
import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CatalogueModel, ProviderCall } from "../src/index.ts";
import { endedCalls, exchange, gpt, local, readTool, resultOf, user } from "./openai-exchange.ts";
import { failureOf } from "./provider-exchange.ts";

let mock: LLMock;

beforeEach(async () => {
  mock = new LLMock({ port: 0, logLevel: "silent" });
  await mock.start();
});

afterEach(() => mock.stop());

const protocols: readonly (readonly [string, string, CatalogueModel])[] = [
  ["Chat Completions", "/v1/chat/completions", { ...local, reasoning: true }],
  ["Responses", "/v1/responses", gpt],
];

const everyProtocol = everyRow(protocols);

const ask = (model: CatalogueModel, parts: Partial<ProviderCall> = {}) =>
  exchange(`${mock.url}/v1`, { model, ...parts });

test("an answer with thinking, its pieces and its counts", () =>
  everyProtocol(async ([, path, model]) => {
    mock.reset();
    mock.onMessage(/.*/, {
      content: "The capital of France is Paris.",
      reasoning: "France. Paris.",
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        input_tokens: 100,
        output_tokens: 20,
        total_tokens: 120,
      },
    });
    const { message, events, error, responses } = await ask(model);
    expect(error).toBeUndefined();
    expect(message).toMatchObject({
      content: [
        { type: "thinking", thinking: "France. Paris." },
        { type: "text", text: "The capital of France is Paris." },
      ],
      stopReason: "stop",
      usage: { input: 100, output: 20, totalTokens: 120 },
    });
    const said = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
    expect(said).toBe("The capital of France is Paris.");
    expect(responses).toMatchObject([{ status: 200 }]);
    expect(mock.getLastRequest()).toMatchObject({ method: "POST", path });
  }));

test("parallel calls, their results, and the answer to them", () =>
  everyProtocol(async ([, , model]) => {
    mock.reset();
    mock.onToolResult("call_b", { content: "Both read." });
    mock.onMessage("Read both", {
      content: "Reading.",
      toolCalls: [
        { id: "call_a", name: "read", arguments: '{"path":"a.ts"}' },
        { id: "call_b", name: "read", arguments: '{"path":"b.ts"}' },
      ],
    });
    const first = await ask(model, { tools: [readTool], messages: [user("Read both")] });
    expect(first.error).toBeUndefined();
    expect(first.message.stopReason).toBe("toolUse");
    expect(endedCalls(first)).toEqual([
      { type: "toolCall", id: "call_a", name: "read", arguments: { path: "a.ts" } },
      { type: "toolCall", id: "call_b", name: "read", arguments: { path: "b.ts" } },
    ]);
    const messages = [user("Read both"), first.message, resultOf("call_a"), resultOf("call_b")];
    const second = await ask(model, { tools: [readTool], messages });
    expect(second.error).toBeUndefined();
    expect(second.message.stopReason).toBe("stop");
    expect(second.message.content.at(-1)).toEqual({ type: "text", text: "Both read." });
  }));

test("a refusal of the API's own kind", () =>
  everyProtocol(async ([, , model]) => {
    mock.reset();
    mock.nextRequestError(429, {
      message: "Slow down",
      type: "rate_limit_error",
      code: "rate_limit_exceeded",
    });
    expect(failureOf(await ask(model))).toMatchObject({
      kind: "refused",
      status: 429,
      code: "rate_limit_exceeded",
      message: "Slow down",
    });
    expect(mock.getRequests()).toHaveLength(1);
  }));
