import { expect, test } from "vitest";
import { calls, done, filler, scriptedAgent, sentText } from "./scripted-agent.ts";

test("a guard blocks a call with its reason, and the tool is not run", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  run.lifecycle.on("tool_call", () => ({ block: true, reason: "not on Sundays" }));
  await run.agent.prompt("go");
  expect(run.turns[1]!.messages.at(-1)).toMatchObject({
    isError: true,
    content: [{ text: "Blocked: not on Sundays" }],
  });
});

test("a guard changes the input in place; what the model said stays as it was", async () => {
  const run = scriptedAgent({ turn: [calls({ text: "bad" }), done] });
  run.lifecycle.on("tool_call", ({ input }) => {
    input.text = "good";
  });
  await run.agent.prompt("go");
  const [, answer, result] = run.turns[1]!.messages;
  expect(answer).toMatchObject({ content: [{ arguments: { text: "bad" } }] });
  expect(result).toMatchObject({ content: [{ text: "good " }] });
});

test("an extension changes a result and a message before they are stored", async () => {
  const run = scriptedAgent({ turn: [calls(), { text: "the key is 1234" }] });
  run.lifecycle.on("tool_result", () => ({ content: [{ type: "text", text: "changed" }] }));
  run.lifecycle.on("message_end", ({ message }) =>
    message.role === "assistant" && message.stopReason === "stop"
      ? { message: { ...message, content: [{ type: "text", text: "the key is ****" }] } }
      : undefined,
  );
  const { answer } = await run.agent.prompt("go");
  expect(answer?.content).toEqual([{ type: "text", text: "the key is ****" }]);
  expect(JSON.stringify(run.session.path())).not.toContain("the key is 1234");
  expect(sentText(run.turns[1]!)).toContain("changed");
});

test("an extension changes context, payload and system prompt of a run; nothing of it is stored", async () => {
  const run = scriptedAgent({ turn: [done] });
  run.lifecycle.on("before_agent_start", () => ({
    systemPrompt: "You are somebody else.",
    message: { customType: "note", content: "a note", display: true },
  }));
  run.lifecycle.on("context", ({ messages }) => ({
    messages: [...messages, { role: "user", content: "and hurry", timestamp: 0 }],
  }));
  await run.agent.prompt("go");
  expect(run.turns[0]).toMatchObject({ systemPrompt: "You are somebody else." });
  expect(run.turns[0]!.messages.map((message) => ("content" in message ? message.content : ""))).toEqual([
    "go",
    "a note",
    "and hurry",
  ]);
  expect(JSON.stringify(run.session.path())).not.toContain("hurry");
});

test("a text that an extension takes is handled, and nothing is stored", async () => {
  const run = scriptedAgent({ turn: [] });
  run.lifecycle.on("input", () => ({ action: "handled" }));
  expect(await run.agent.prompt("/mine")).toEqual({ status: "handled" });
  expect(run.session.path()).toEqual([]);
});

test("changes in place by a handler of context reach neither the session nor the request", async () => {
  const run = scriptedAgent({ turn: [done] });
  run.lifecycle.on("context", ({ messages }) => {
    Object.assign(messages[0]!, { content: "items other than texts" });
  });
  await run.agent.prompt("go");
  expect(run.turns[0]!.messages).toMatchObject([{ content: "go" }]);
  expect(run.session.projection().items[0]?.message).toMatchObject({ content: "go" });
});

test("a listener that throws is reported by a notice, and the run goes on", async () => {
  const ended: string[] = [];
  const followers = [
    {
      runEnded: () => {
        throw new Error("no title");
      },
      close: async () => {},
    },
    {
      runEnded: ({ messages }: { messages: () => readonly { role: string }[] }) => {
        ended.push(
          messages()
            .map(({ role }) => role)
            .join(),
        );
      },
      close: async () => void ended.push("closed"),
    },
  ];
  const run = scriptedAgent({ turn: [calls(), done], followers });
  expect((await run.agent.prompt("go")).status).toBe("done");
  await run.agent.close();
  expect(ended).toEqual(["user,assistant,toolResult,assistant", "closed"]);
  expect(run.notices).toMatchObject([
    { code: "follower_failed", message: "The run ended, but a task after it failed: no title" },
  ]);
});

test("a window that a server names is the model's from then on", async () => {
  const refusal = { error: { status: 400, message: "prompt is too long: 16000 tokens > 15000 maximum" } };
  const run = scriptedAgent({ turn: (_call, count) => (count === 3 ? refusal : done) });
  for (const size of [4_000, 4_000, 100]) await run.agent.prompt(filler(size));
  expect(run.agent.model.contextWindow).toBe(15_000);
  expect(run.agent.state.context.windowTokens).toBe(15_000);
});
