import { readFileSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tool-registry.ts";
import { unpaired } from "./pairs.ts";
import { calls, filler, scriptedAgent, sentText, summary } from "./scripted-agent.ts";

const done = { text: "done" };
const ran = { output: "out", exitCode: 0, cancelled: false, truncated: false };

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

test.each([
  ["blocks", () => ({ block: true, reason: "no rm" }), "no rm"],
  [
    "throws",
    () => {
      throw new Error("broken guard");
    },
    "broken guard",
  ],
])("a command of the user's is not run when a guard %s", async (_what, guard, reason) => {
  let isRun = false;
  const runCommand = async () => {
    isRun = true;
    return ran;
  };
  const run = scriptedAgent({ turn: [], runCommand });
  run.lifecycle.on("user_bash", guard);
  await expect(run.agent.runUserCommand("rm -rf /")).rejects.toMatchObject({
    code: "command_blocked",
    message: expect.stringContaining(reason),
  });
  expect(isRun).toBe(false);
  expect(run.session.path()).toEqual([]);
});

test("a command that an extension has run is stored with what it put out, and not run again", async () => {
  const run = scriptedAgent({ turn: [], runCommand: () => Promise.reject(new Error("ran twice")) });
  const result = {
    output: "remote",
    exitCode: 3,
    cancelled: false,
    truncated: true,
    fullOutputPath: "/tmp/o",
  };
  run.lifecycle.on("user_bash", ({ command, excludeFromContext, cwd }) => {
    expect([command, excludeFromContext, cwd]).toEqual(["ls", true, "/project"]);
    return { result: { ...result, more: "of its own" } };
  });
  expect(await run.agent.runUserCommand("ls", { excludeFromContext: true })).toMatchObject(result);
  const [entry] = run.session.path();
  expect(entry).toMatchObject({
    message: { role: "bashExecution", command: "ls", ...result, excludeFromContext: true },
  });
  expect(JSON.stringify(entry)).not.toContain("of its own");
});

test("a command runs where an extension says, its output shown as it comes and made plain", async () => {
  const run = scriptedAgent({ turn: [], runCommand: () => Promise.reject(new Error("ran here")) });
  const operations = {
    code: 3,
    async exec(command: string, cwd: string, { onData }: { onData: (data: Buffer) => void }) {
      onData(Buffer.from(`\u001b[31m${command}\u001b[0m in ${cwd}\n`));
      onData(Buffer.from("the rest"));
      return { exitCode: this.code };
    },
  };
  run.lifecycle.on("user_bash", () => ({ operations }));
  const shown: string[] = [];
  const message = await run.agent.runUserCommand("ls", { onOutput: (text) => shown.push(text) });
  expect(message).toMatchObject({
    output: "ls in /project\nthe rest",
    exitCode: 3,
    cancelled: false,
    truncated: false,
  });
  expect(shown).toEqual(["ls in /project\n", "the rest"]);
});

test("an output from elsewhere that is long is kept in a file", async () => {
  const run = scriptedAgent({ turn: [] });
  const exec = async (_command: string, _cwd: string, { onData }: { onData: (data: Buffer) => void }) => {
    for (let line = 1; line <= 3_000; line += 1) onData(Buffer.from(`line ${line}\n`));
    return { exitCode: null };
  };
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  const { output, truncated, fullOutputPath, exitCode } = await run.agent.runUserCommand("seq 3000");
  expect([truncated, exitCode, output.includes("line 3000"), output.includes("line 1\n")]).toEqual([
    true,
    undefined,
    true,
    false,
  ]);
  expect(readFileSync(fullOutputPath!, "utf8")).toMatch(/^line 1\n[\s\S]*line 3000\n$/);
  rmSync(fullOutputPath!);
});

test("a command that is stopped elsewhere keeps what it put out, also where nobody heeds the stop", async () => {
  const run = scriptedAgent({ turn: [] });
  const stop = new AbortController();
  const exec = (_command: string, _cwd: string, { onData }: { onData: (data: Buffer) => void }) => {
    onData(Buffer.from("begun"));
    stop.abort();
    return new Promise<never>(() => {});
  };
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  expect(await run.agent.runUserCommand("sleep 9", { signal: stop.signal })).toMatchObject({
    output: "begun",
    cancelled: true,
  });
});

test("a command that cannot run elsewhere is an error, and nothing runs here in its place", async () => {
  const run = scriptedAgent({ turn: [], runCommand: async () => ran });
  const exec = () => Promise.reject(new Error("no such host"));
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  await expect(run.agent.runUserCommand("ls")).rejects.toMatchObject({
    code: "command_failed",
    message: expect.stringContaining("no such host"),
  });
  expect(run.session.path()).toEqual([]);
});

test("a command that one extension blocks and another has run is blocked; of two that ran it, the later stands", async () => {
  const output = (text: string) => ({ output: text, cancelled: false, truncated: false });
  const run = scriptedAgent({ turn: [] });
  for (const source of ["one", "two"])
    run.lifecycle.on("user_bash", () => ({ result: output(source) }), { source });
  expect(await run.agent.runUserCommand("ls")).toMatchObject({ output: "two" });
  expect(run.notices.map(({ code }) => code)).toEqual(["conflict"]);
  run.lifecycle.on("user_bash", () => ({ block: true, reason: "not here" }));
  await expect(run.agent.runUserCommand("ls")).rejects.toMatchObject({ code: "command_blocked" });
});

test.each([
  { result: "done" },
  { result: { output: "x" } },
  { result: { output: 7, cancelled: false, truncated: false } },
  { operations: {} },
])("a command is blocked where an extension answers %j, which is no result", async (answer) => {
  const run = scriptedAgent({ turn: [], runCommand: async () => ran });
  run.lifecycle.on("user_bash", () => answer as never);
  await expect(run.agent.runUserCommand("ls")).rejects.toMatchObject({ code: "command_blocked" });
  expect(run.session.path()).toEqual([]);
});

test("a command that cannot be started, and one without a shell, are errors that say so", async () => {
  const failing = scriptedAgent({ turn: [], runCommand: () => Promise.reject(new Error("ENOENT")) });
  for (const { agent } of [failing, scriptedAgent({ turn: [] })])
    await expect(agent.runUserCommand("true")).rejects.toMatchObject({ code: "command_failed" });
});

test("results come in the order of the calls, whoever ends first; a tool that wants to be alone is", async () => {
  const log: string[] = [];
  const gates = new Map<string, () => void>();
  const gated = defineTool({
    name: "gated",
    description: "Ends when it may.",
    parameters: z.object({ id: z.string() }),
    execute: ({ input: { id } }) => {
      log.push(`start ${id}`);
      return new Promise((resolve) =>
        gates.set(id, () => {
          log.push(`end ${id}`);
          resolve({ content: [{ type: "text", text: id }] });
        }),
      );
    },
  });
  const alone = { ...gated, name: "alone", executionMode: "sequential" as const };
  const call = (name: string, id: string) => ({ name, arguments: { id } });
  const run = scriptedAgent({
    tools: [gated, alone],
    turn: [{ calls: [call("gated", "a"), call("gated", "b"), call("alone", "c"), call("gated", "d")] }, done],
  });
  const order = ["b", "a", "c", "d"];
  run.lifecycle.on("tool_execution_start", () => {
    setImmediate(() => {
      while (gates.has(order[0]!)) gates.get(order.shift()!)!();
    });
  });
  await run.agent.prompt("go");
  expect(log).toEqual(["start a", "start b", "end b", "end a", "start c", "end c", "start d", "end d"]);
  const results = run.turns[1]!.messages.flatMap((each) =>
    each.role === "toolResult" ? [each.content] : [],
  );
  expect(results.map(([content]) => content)).toMatchObject(["a", "b", "c", "d"].map((text) => ({ text })));
});

test("a move in the tree takes a summary along; an abort changes nothing, and what was typed meanwhile waits", async () => {
  const run = scriptedAgent({
    turn: () => done,
    summary: () => summary,
  });
  for (const text of [filler(100), "two", "three"]) await run.agent.prompt(text);
  const second = run.session
    .path()
    .find((entry) => entry.type === "message" && entry.message.role === "assistant")!;
  const leaf = run.session.leafId;
  const off = run.lifecycle.on("session_before_tree", () => {
    off();
    void run.agent.abort();
  });
  const { size } = { size: run.session.store.size() };
  expect((await run.agent.navigate(second.id, { summarise: true })).status).toBe("cancelled");
  expect([run.session.leafId, run.session.store.size()]).toEqual([leaf, size]);

  let waiting: Promise<unknown> | undefined;
  run.lifecycle.on("session_before_tree", () => {
    waiting = run.agent.prompt("here now");
  });
  const moved = await run.agent.navigate(second.id, { summarise: true, focus: "the third one" });
  expect(sentText(run.summaries.at(-1)!)).toContain("the third one");
  expect(moved).toMatchObject({ status: "moved", summaryEntry: { type: "branch_summary" } });
  expect(await waiting).toMatchObject({ status: "done" });
  const roles = run.session.projection().items.map(({ message }) => message.role);
  expect(roles).toEqual(["user", "assistant", "branchSummary", "user", "assistant"]);
});

test("what a handler of context does in place reaches neither the session nor the request", async () => {
  const run = scriptedAgent({ turn: [done] });
  run.lifecycle.on("context", ({ messages }) => {
    Object.assign(messages[0]!, { content: "something else" });
  });
  await run.agent.prompt("go");
  expect(run.turns[0]!.messages).toMatchObject([{ content: "go" }]);
  expect(run.session.projection().items[0]?.message).toMatchObject({ content: "go" });
});

test("a follower that throws is notified and harms nobody", async () => {
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
  expect(run.notices).toMatchObject([{ code: "follower_failed", message: "After the run: no title" }]);
});

test("after a move to an answer whose calls have their results elsewhere, each call has a result again", async () => {
  const run = scriptedAgent({ turn: [{ calls: [{ name: "echo" }, { name: "echo" }] }, done, done] });
  await run.agent.prompt("go");
  const answer = run.session
    .path()
    .find((entry) => entry.type === "message" && entry.message.role === "assistant")!;
  await run.agent.navigate(answer.id);
  expect((await run.agent.prompt("another way")).status).toBe("done");
  const { messages } = run.turns.at(-1)!;
  expect(unpaired(messages)).toEqual([]);
  expect(messages.at(-1)).toMatchObject({ role: "user", content: "another way" });
});

test("a call is not run when the work was stopped while a guard looked at it", async () => {
  let isRun = false;
  const tool = defineTool({
    name: "echo",
    description: "Runs.",
    parameters: z.object({}),
    execute: async () => {
      isRun = true;
      return { content: [] };
    },
  });
  const run = scriptedAgent({ tools: [tool], turn: [calls()] });
  run.lifecycle.on("tool_call", () => {
    void run.agent.abort();
  });
  expect((await run.agent.prompt("go")).status).toBe("aborted");
  expect(isRun).toBe(false);
  expect(run.session.projection().items.at(-1)?.message).toMatchObject({
    isError: true,
    content: [{ text: "Not run: the user stopped the work." }],
  });
});

test("what a tool shows after it has ended fires no event", async () => {
  const shown: unknown[] = [];
  let late: (() => void) | undefined;
  const tool = defineTool({
    name: "echo",
    description: "Shows.",
    parameters: z.object({}),
    execute: async ({ onUpdate }) => {
      onUpdate({ content: [{ type: "text", text: "half" }] });
      late = () => onUpdate({ content: [{ type: "text", text: "late" }] });
      return { content: [] };
    },
  });
  const run = scriptedAgent({ tools: [tool], turn: [calls(), done] });
  run.lifecycle.on("tool_execution_update", ({ partialResult }) => void shown.push(partialResult.content[0]));
  run.lifecycle.on("tool_execution_end", () => late?.());
  await run.agent.prompt("go");
  expect(shown).toEqual([{ type: "text", text: "half" }]);
});

test("calls of an answer that broke off get no results, for they were not run", async () => {
  const run = scriptedAgent({ turn: [calls({ text: "x".repeat(200) }, { cut: true }), done] });
  expect((await run.agent.prompt("go")).status).toBe("failed");
  const { message } = run.session.projection().items.at(-1)!;
  expect(message).toMatchObject({ role: "assistant", stopReason: "error", content: [{ type: "toolCall" }] });
  await run.agent.prompt("again");
  expect(run.session.projection().items.map(({ message: { role } }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
});

test("a window that a server turns out to have is the model's from then on", async () => {
  const refusal = { error: { status: 400, message: "prompt is too long: 16000 tokens > 15000 maximum" } };
  const run = scriptedAgent({ turn: (_call, count) => (count === 3 ? refusal : done) });
  for (const size of [4_000, 4_000, 100]) await run.agent.prompt(filler(size));
  expect(run.agent.model.contextWindow).toBe(15_000);
  expect(run.agent.state.context.windowTokens).toBe(15_000);
});
