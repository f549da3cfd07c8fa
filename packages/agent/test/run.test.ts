import { ModelClient } from "@bonsai-agent/models";
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

test("after an edit of the context, thinking that is bound to what is no more is not sent", async () => {
  const sent: unknown[] = [];
  const models = new ModelClient({
    now: () => Date.now() - 60_000,
    providers: {
      scripted: async () => ({
        async *stream({ messages }, answer) {
          sent.push(messages.map((message) => (message.role === "assistant" ? message.content.length : 0)));
          answer.add({ type: "thinking", thinking: "hm", thinkingSignature: "signed" });
          yield answer.text("done");
          answer.stop("stop");
        },
      }),
    },
  });
  const { agent, session } = scriptedAgent({ turn: [], models });
  for (const text of ["one", "two"]) await agent.prompt(text);
  const [first] = session.projection().items;
  session.append({ type: "context_edit", targetId: first!.entryId, replacement: { content: "other" } });
  await agent.prompt("three");
  expect(sent).toEqual([[0], [0, 2, 0], [0, 1, 0, 1, 0]]);
});

test("an answer that was cut off at its limit is told of", async () => {
  const { agent, notices } = scriptedAgent({ turn: [{ text: "and then", stopReason: "length" }] });
  expect((await agent.prompt("tell")).status).toBe("done");
  expect(notices).toMatchObject([{ level: "warning", code: "answer_cut_off" }]);
});
