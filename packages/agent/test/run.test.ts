import { expect, test } from "vitest";
import { calls, filler, roles, scriptedAgent } from "./scripted-agent.ts";

test("a call is run and its result goes back to the model", async () => {
  const { agent, session, turns } = scriptedAgent({ turn: [calls({ text: "hi" }), { text: "done" }] });
  const result = await agent.prompt("say hi");
  expect(result).toMatchObject({ status: "done", answer: { content: [{ type: "text", text: "done" }] } });
  expect(turns.map(({ messages }) => roles(messages))).toEqual([
    ["user"],
    ["user", "assistant", "toolResult"],
  ]);
  expect(roles(session.projection().items.map(({ message }) => message))).toEqual([
    "user",
    "assistant",
    "toolResult",
    "assistant",
  ]);
});

test("an overflow is recovered from inside the same prompt, and the refused answer leaves the context", async () => {
  const refusal = { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
  const { agent, session, turns } = scriptedAgent({
    turn: [{ text: "one" }, { text: "two" }, refusal, { text: "three" }],
  });
  for (const text of [filler(4_000), filler(4_000)]) await agent.prompt(text);
  const result = await agent.prompt("go on");
  expect(result).toMatchObject({ status: "done", answer: { content: [{ text: "three" }] } });
  expect(turns).toHaveLength(4);
  const { items, compaction } = session.projection();
  expect(compaction).toBeDefined();
  expect(
    items.filter(({ message }) => message.role === "assistant" && message.stopReason === "error"),
  ).toEqual([]);
});

test("what the session is worked on with is recorded once, and again when it changes", async () => {
  const { agent, session } = scriptedAgent({ turn: () => ({ text: "done" }) });
  const changes = () => session.path().filter(({ type }) => type.endsWith("_change"));
  await agent.prompt("one");
  await agent.prompt("two");
  expect(changes()).toMatchObject([{ type: "model_change", provider: "scripted", modelId: "actor" }]);
  await agent.setThinking("high");
  await agent.prompt("three");
  await agent.prompt("four");
  expect(changes()).toMatchObject([{}, { type: "thinking_level_change", thinkingLevel: "high" }]);
});
