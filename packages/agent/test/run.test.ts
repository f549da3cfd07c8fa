import { ModelClient, ProviderError } from "@bonsai-agent/models";
import { expect, test } from "vitest";
import { calls, filler, roles, scriptedAgent, summary } from "./scripted-agent.ts";

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

test("records the model once, and the thinking level after a change", async () => {
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

test("results that are masked in the middle of a task, and failed answers that are left out, take no thinking away", async () => {
  const sent: number[][] = [];
  let count = 0;
  const models = new ModelClient({
    now: () => Date.now() - 60_000,
    retry: { maxRetries: 0 },
    providers: {
      scripted: async () => ({
        async *stream({ messages }, answer) {
          count += 1;
          sent.push(messages.flatMap((each) => (each.role === "assistant" ? [each.content.length] : [])));
          answer.add({ type: "thinking", thinking: "hm", thinkingSignature: "signed" });
          if (count === 1) {
            answer.add({ type: "toolCall", id: "call-1", name: "echo", arguments: {} });
            yield answer.start();
            answer.stop("toolUse");
            return;
          }
          yield answer.text("done");
          if (count === 2) throw new ProviderError({ kind: "refused", status: 401, message: "no" });
          answer.stop("stop");
        },
      }),
    },
  });
  const { agent, session } = scriptedAgent({ turn: [], models });
  await agent.prompt("one");
  const items = session.projection().items;
  const of = (role: string) => items.findLast(({ message }) => message.role === role)!.entryId;
  session.append({ type: "context_edit", targetId: of("toolResult"), replacement: { content: "cleared" } });
  session.append({ type: "context_edit", targetId: of("assistant"), replacement: null });
  await agent.prompt("two");
  expect(sent.at(-1)).toEqual([2]);
});

test("stores the usage of repeated attempts of an answer and of a summary", async () => {
  let count = 0;
  const models = new ModelClient({
    retry: { maxRetries: 1, baseDelayMs: 0 },
    providers: {
      scripted: async () => ({
        async *stream({ purpose }, answer) {
          count += 1;
          yield answer.text(purpose === "turn" ? "done" : summary.text!);
          answer.setUsage({ input: 1_000, output: 10 });
          if (count === 1 || count === 4)
            throw new ProviderError({ kind: "refused", status: 529, message: "Overloaded" });
          answer.stop("stop");
        },
      }),
    },
  });
  const { agent, session } = scriptedAgent({ turn: [], models });
  for (const size of [4_000, 8_000]) await agent.prompt(filler(size));
  const paid = session.path().filter(({ type }) => type === "usage");
  expect(paid).toMatchObject([
    { kind: "retry", provider: "scripted", model: "actor", usage: { input: 1_000, output: 10 } },
  ]);
  await agent.compact();
  const [compaction] = session.path().filter((entry) => entry.type === "compaction");
  expect(compaction).toMatchObject({ usage: { input: 2_000, output: 20 } });
});

test("an answer that was cut off at its limit is notified", async () => {
  const { agent, notices } = scriptedAgent({ turn: [{ text: "and then", stopReason: "length" }] });
  expect((await agent.prompt("tell")).status).toBe("done");
  expect(notices).toMatchObject([{ level: "warning", code: "answer_cut_off" }]);
});
