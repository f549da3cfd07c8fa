import { Type } from "typebox";
import { expect, test } from "vitest";
import { Agent, agentLoop } from "../src/modules/agent-core.ts";
import { AssistantMessageEventStream } from "../src/modules/ai.ts";

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

test("runs the calls of a model and tells its listeners", async () => {
  const { requests, streamFn } = scripted([call("add", { a: 1, b: "2" })], "Three.");
  const agent = new Agent({
    initialState: { systemPrompt: "Add.", model, tools: [add] as never },
    streamFn,
  });
  const events: string[] = [];
  agent.subscribe(({ type }) => void events.push(type));
  await agent.prompt("1 + 2?");
  expect(events).toEqual([
    ...["agent_start", "turn_start", "message_start", "message_end"],
    ...["message_start", "message_update", "message_end"],
    ...["tool_execution_start", "tool_execution_update", "tool_execution_end"],
    ...["message_start", "message_end", "turn_end", "turn_start"],
    ...["message_start", "message_update", "message_end", "turn_end", "agent_end"],
  ]);
  expect(agent.state.messages.map(({ role }) => role)).toEqual([
    ...["system", "user", "assistant", "toolResult", "assistant"],
  ]);
  expect(agent.state.messages[3]).toMatchObject({ content: [{ text: "3" }], isError: false });
  expect(requests[0]!.messages[0]).toMatchObject({ role: "system", content: "Add." });
  expect(agent.state).toMatchObject({ isStreaming: false, systemPrompt: "Add.", errorMessage: undefined });
});

test("hooks block a call and change a result; a call without its tool fails", async () => {
  const calls = [call("add", { a: 1, b: 1 }, "blocked"), call("add", { a: 2, b: 2 }, "changed")];
  const { streamFn } = scripted([...calls, call("gone", {})]);
  const agent = new Agent({
    initialState: { model, tools: [add] as never },
    streamFn,
    beforeToolCall: async ({ toolCall }) =>
      toolCall.id === "blocked" ? { block: true, reason: "Not this one." } : undefined,
    afterToolCall: async () => ({ content: [{ type: "text", text: "changed" }] }),
  });
  await agent.prompt("Go.");
  const results = agent.state.messages.filter(({ role }) => role === "toolResult");
  expect(results.map(({ content, isError }) => [(content as Content[])[0]!.text, isError])).toEqual([
    ["Not this one.", true],
    ["changed", false],
    ["Tool gone not found", true],
  ]);
});

test("queued messages go into the next turns, and an abort ends the run", async () => {
  const { requests, streamFn } = scripted([call("add", { a: 1, b: 1 })], "Two.", "Later.");
  const agent = new Agent({ initialState: { model, tools: [add] as never }, streamFn });
  const user = (content: string) => ({ role: "user", content, timestamp: 1 });
  agent.subscribe(({ type }) => {
    if (type === "tool_execution_start") agent.steer(user("steered"));
  });
  agent.followUp(user("after"));
  await agent.prompt("Go.");
  expect(requests.map(({ messages }) => messages.at(-1)!.content)).toEqual([
    [{ type: "text", text: "Go." }],
    "steered",
    "after",
  ]);
  agent.subscribe(({ type }) => {
    if (type === "turn_start") throw new Error("A listener broke.");
  });
  await agent.prompt("Again.");
  expect(agent.state.messages.at(-1)).toMatchObject({ stopReason: "error" });
  expect(agent.state.errorMessage).toBe("A listener broke.");
});

test("a tool that ends the run is not answered", async () => {
  const done = { ...add, execute: async () => ({ content: [], details: {}, terminate: true }) };
  const { requests, streamFn } = scripted([call("add", { a: 1, b: 1 })]);
  const agent = new Agent({ initialState: { model, tools: [done] as never }, streamFn });
  await agent.prompt("Go.");
  expect(requests).toHaveLength(1);
  expect(agent.state.messages.at(-1)!.role).toBe("toolResult");
});

test("the loop alone is a stream of events with the new messages as its result", async () => {
  const { streamFn } = scripted("Hello.");
  const config = { model, convertToLlm: (messages: never[]) => messages } as never;
  const events = agentLoop([{ role: "user", content: "Hi" }], { messages: [] }, config, undefined, streamFn);
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  expect(types.at(-1)).toBe("agent_end");
  expect((await events.result()).map(({ role }) => role)).toEqual(["user", "assistant"]);
});
