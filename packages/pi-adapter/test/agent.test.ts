import { messageText } from "@bonsai-agent/messages";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { AssistantMessageEventStream } from "../src/models/streams.ts";
import { Agent } from "../src/sdk/agent.ts";

type Content = { type: string; text?: string; id?: string; name?: string; arguments?: object };

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: {} };
const model = { provider: "scripted", id: "one", api: "scripted" };

/** A model that gives these answers, in their order. */
function scripted(...answers: (string | Content[])[]) {
  const requests: { messages: { role: string; content?: unknown }[] }[] = [];
  const streamFn = (_model: unknown, context: (typeof requests)[number]) => {
    requests.push({ messages: [...context.messages] });
    const answer = answers.shift() ?? "Done.";
    const content = typeof answer === "string" ? [{ type: "text", text: answer }] : answer;
    const calls = content.some(({ type }) => type === "toolCall");
    const message = {
      role: "assistant",
      content,
      ...{ provider: "scripted", model: "one", api: "scripted", usage, timestamp: 1 },
      stopReason: calls ? "toolUse" : "stop",
    };
    const stream = new AssistantMessageEventStream();
    stream.push({ type: "start", partial: { ...message, content: [] } } as never);
    stream.push({ type: "text_delta", contentIndex: 0, delta: "x", partial: message } as never);
    stream.push({ type: "done", reason: "stop", message } as never);
    return stream;
  };
  return { requests, streamFn: streamFn as never };
}

const call = (name: string, args: object, id = name) => ({ type: "toolCall", id, name, arguments: args });

const add = {
  name: "add",
  label: "Add",
  description: "Adds",
  parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: async (_id: string, args: unknown, _signal: unknown, onUpdate: unknown) => {
    const { a, b } = args as { a: number; b: number };
    (onUpdate as (result: object) => void)({ content: [{ type: "text", text: "adding" }] });
    return { content: [{ type: "text" as const, text: String(a + b) }], details: {} };
  },
};

test("a run calls tools, sends events and keeps the conversation", async () => {
  const { requests, streamFn } = scripted([call("add", { a: 1, b: "2" })], "Three.");
  const agent = new Agent({ initialState: { systemPrompt: "Add.", model, tools: [add] as never }, streamFn });
  const events: string[] = [];
  agent.subscribe(({ type }) => {
    if (type !== events.at(-1)) events.push(type);
  });
  await agent.prompt("1 + 2?");
  expect(events).toEqual([
    ...["agent_start", "turn_start", "message_start", "message_end"],
    ...["message_start", "message_update", "message_end"],
    ...["tool_execution_start", "tool_execution_update", "tool_execution_end"],
    ...["message_start", "message_end", "turn_end", "turn_start"],
    ...["message_start", "message_update", "message_end", "turn_end", "agent_end"],
  ]);
  expect(agent.state.messages).toMatchObject([
    { role: "user" },
    { role: "assistant" },
    { role: "toolResult", content: [{ text: "3" }], isError: false },
    { role: "assistant", content: [{ text: "Three." }] },
  ]);
  expect(requests[0]!.messages).toMatchObject([
    { role: "system", content: "Add." },
    { role: "user", content: [{ type: "text", text: "1 + 2?" }] },
  ]);
  expect(agent.state).toMatchObject({ isStreaming: false, errorMessage: undefined });
  agent.state.systemPrompt = "Be brief.";
  await agent.prompt("And now?");
  expect(requests.at(-1)!.messages.map(({ role }) => role)).toEqual([
    ...["system", "user", "assistant", "toolResult", "assistant", "user"],
  ]);
  expect(requests.at(-1)!.messages[0]).toMatchObject({ content: "Be brief." });
});

test("hooks block calls and change results; a call of an unknown tool fails", async () => {
  const calls = [call("add", { a: 1, b: 1 }, "blocked"), call("add", { a: 2, b: 2 }, "changed")];
  const { streamFn } = scripted([...calls, call("gone", {})]);
  const agent = new Agent({
    initialState: { model, tools: [add] as never },
    streamFn,
    beforeToolCall: async ({ toolCall }) =>
      toolCall.id === "blocked" ? { block: true, reason: "Not this one." } : undefined,
    afterToolCall: async ({ toolCall }) =>
      toolCall.id === "changed" ? { content: [{ type: "text", text: "changed" }] } : undefined,
  });
  await agent.prompt("Go.");
  const results = agent.state.messages.filter((message) => message.role === "toolResult");
  expect(results).toMatchObject([
    { content: [{ text: expect.stringContaining("Not this one.") }], isError: true },
    { content: [{ text: "changed" }], isError: false },
    { content: [{ text: expect.stringContaining("Unknown tool gone") }], isError: true },
  ]);
});

test("queued messages join the run", async () => {
  const { requests, streamFn } = scripted([call("add", { a: 1, b: 1 })], "Two.", "Later.");
  const agent = new Agent({ initialState: { model, tools: [add] as never }, streamFn });
  const user = (content: string) => ({ role: "user" as const, content, timestamp: 1 });
  agent.subscribe(({ type }) => {
    if (type === "tool_execution_start") agent.steer(user("steered"));
  });
  agent.followUp(user("after"));
  expect(agent.hasQueuedMessages()).toBe(true);
  await agent.prompt("Go.");
  expect(requests.map(({ messages }) => messageText(messages.at(-1) as never))).toEqual([
    ...["Go.", "steered", "after"],
  ]);
  expect(agent.hasQueuedMessages()).toBe(false);
});

test("a failed request is an answer with its reason", async () => {
  const failing = () => Promise.reject(new Error("No key."));
  const agent = new Agent({ initialState: { model }, streamFn: failing });
  await agent.prompt("Go.");
  expect(agent.state.messages.at(-1)).toMatchObject({ role: "assistant", stopReason: "error" });
  expect(agent.state.errorMessage).toContain("No key.");
});

test("an abort ends the run, also within a tool", async () => {
  const { requests, streamFn } = scripted([call("stop", {})]);
  const stop = { ...add, name: "stop", parameters: { ...Type.Object({}) } };
  const agent: Agent = new Agent({
    initialState: {
      model,
      tools: [{ ...stop, execute: async () => ({ content: [], details: agent.abort() }) }],
    },
    streamFn,
    getApiKey: () => "key",
  });
  await agent.prompt("Go.");
  await agent.waitForIdle();
  expect([requests.length, agent.state.isStreaming]).toEqual([1, false]);
});

test("a result that ends the run is not sent to the model", async () => {
  const done = { ...add, execute: async () => ({ content: [], details: {}, terminate: true }) };
  const { requests, streamFn } = scripted([call("add", { a: 1, b: 1 })]);
  const agent = new Agent({ initialState: { model, tools: [done] as never }, streamFn });
  await agent.prompt("Go.");
  expect(requests).toHaveLength(1);
  expect(agent.state.messages.at(-1)!.role).toBe("toolResult");
});
