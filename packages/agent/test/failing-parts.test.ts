import { BonsaiError, callsIn } from "@bonsai-agent/messages";
import { createSession, MemoryStore, type SessionStore } from "@bonsai-agent/session";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { lifecycleEventRules } from "../src/lifecycle.ts";
import { defineTool, type Tool } from "../src/tools/tool-registry.ts";
import { unpaired } from "./pairs.ts";
import { calls, done, echo, recordEvents, scriptedAgent } from "./scripted-agent.ts";

const twoCalls = { calls: [{ name: "echo" }, { name: "echo" }] };

/** A store whose disk is full for a while. */
class FullStore extends MemoryStore {
  appends = 0;
  isFull: (append: number) => boolean = () => false;

  override append(text: string): number {
    this.appends += 1;
    if (!this.isFull(this.appends)) return super.append(text);
    throw new BonsaiError({ code: "append_failed", message: "No space left on device.", hint: "Make room." });
  }
}

test("a disk that is full at any append ends the run in a result; afterwards the agent is idle and works", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 9 }), async (from, count) => {
      const store: FullStore & SessionStore = new FullStore();
      const session = createSession({ store, cwd: "/project" });
      const run = scriptedAgent({
        session,
        turn: (_call, turn) => (turn === 1 ? twoCalls : turn === 2 ? calls() : done),
      });
      const names = recordEvents(run.lifecycle);
      const begin = store.appends + from;
      store.isFull = (append) => append >= begin && append < begin + count;
      const { status, error, unsent = [] } = await run.agent.prompt("go");
      if (status === "failed") expect(error?.code).toBe("append_failed");
      else expect(status).toBe("done");
      expect(run.agent.isBusy).toBe(false);
      expect(names.filter((name) => name === "agent_start")).toHaveLength(1);
      expect(names.at(-1)).toBe("agent_end");
      const isStored = session.projection().items.some(({ message }) => message.role === "user");
      expect(unsent.map(({ text }) => text)).toEqual(isStored ? [] : ["go"]);

      store.isFull = () => false;
      expect((await run.agent.prompt("again")).status).toBe("done");
      expect(unpaired(run.turns.at(-1)!.messages)).toEqual([]);
    }),
  );
});

test("a result that cannot be stored stops the tools that still run beside it", async () => {
  const store = new FullStore();
  let wasStopped = false;
  const endless = defineTool({
    name: "endless",
    description: "Ends when it is stopped.",
    parameters: z.object({}),
    execute: ({ signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          wasStopped = true;
          reject(new Error("stopped"));
        }),
      ),
  });
  const run = scriptedAgent({
    session: createSession({ store, cwd: "/project" }),
    tools: [echo, endless],
    turn: [{ calls: [{ name: "echo" }, { name: "endless" }] }],
  });
  run.lifecycle.on("tool_execution_start", () => {
    store.isFull = () => true;
  });
  expect(await run.agent.prompt("go")).toMatchObject({ status: "failed", error: { code: "append_failed" } });
  expect(wasStopped).toBe(true);
});

test("extensions that throw in every event change nothing but that calls are blocked", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  const thrown = new Set<string>();
  for (const name of Object.keys(lifecycleEventRules) as (keyof typeof lifecycleEventRules)[])
    run.lifecycle.on(name, () => {
      thrown.add(name);
      throw new Error(`${name} broke`);
    });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(thrown.size).toBeGreaterThan(15);
  expect(run.turns[1]!.messages.at(-1)).toMatchObject({
    isError: true,
    content: [{ text: "Blocked: tool_call broke" }],
  });
});

const aResult = { role: "toolResult", toolName: "echo" };

test("an unusable answer of a handler is reported and left out", async () => {
  for (const [name, result] of [
    ["input", { action: "transform", text: 7 }],
    ["before_agent_start", { message: { customType: "x" } }],
    ["context", { messages: [7] }],
    ["message_end", { message: { role: "user" } }],
    [
      "message_end",
      { message: { role: "custom", customType: "x", content: "", display: true, timestamp: 0 } },
    ],
    [
      "message_end",
      { message: { ...aResult, toolCallId: "another", content: [], isError: false, timestamp: 0 } },
    ],
    ["tool_result", { content: "text" }],
    ["tool_result", { isError: "yes" }],
    ["tool_result", { usage: { input: "much" } }],
    ["before_provider_request", "nonsense"],
  ] as const) {
    const run = scriptedAgent({ turn: [calls({ text: "hi" }), done] });
    run.lifecycle.on(name, (() => result) as never);
    expect.soft((await run.agent.prompt("go")).status, name).toBe("done");
    expect
      .soft(
        run.notices.map(({ code }) => code),
        name,
      )
      .toContain("invalid_result");
    const [, answer, echoed] = run.turns[1]!.messages;
    expect.soft(callsIn(answer!), name).toHaveLength(1);
    expect.soft(echoed, name).toMatchObject({ content: [{ text: "hi " }], isError: false });
  }
});

test("a field that an extension leaves undefined stays as it was", async () => {
  const run = scriptedAgent({ turn: [calls({ text: "hi" }), done] });
  run.lifecycle.on("tool_result", () => ({ content: undefined, isError: true }) as never);
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(run.turns[1]!.messages.at(-1)).toMatchObject({ content: [{ text: "hi " }], isError: true });
});

const unusableGuards = [
  ["true", true, "a boolean"],
  ["a string", "rm is not allowed", "a string"],
  ["another event's fields", { cancel: true }, "fields {cancel}"],
  ["a block that is no flag", { block: "yes" }, "fields {block}"],
] as const;

test("a guard with an unusable answer blocks, and is named", async () => {
  for (const [row, answer, received] of unusableGuards) {
    const run = scriptedAgent({ turn: [calls(), done], shell: () => Promise.reject(new Error("ran")) });
    for (const name of ["tool_call", "user_bash"] as const)
      run.lifecycle.on(name, () => answer as never, { source: "guard" });
    await run.agent.prompt("go");
    expect.soft(run.turns[1]!.messages.at(-1), row).toMatchObject({
      isError: true,
      content: [{ text: `Blocked: guard returned ${received} from tool_call, which is not a valid answer.` }],
    });
    await expect.soft(run.agent.runUserCommand("rm"), row).rejects.toMatchObject({ code: "command_blocked" });
    expect
      .soft(
        run.notices.map(({ code }) => code),
        row,
      )
      .toEqual(["invalid_result", "invalid_result"]);
  }
});

test("a guard whose answer does not block lets the call run", async () => {
  for (const answer of [{}, { reason: "looked at it" }, { block: false }]) {
    const run = scriptedAgent({ turn: [calls(), done] });
    run.lifecycle.on("tool_call", () => answer);
    await run.agent.prompt("go");
    expect.soft(run.turns[1]!.messages.at(-1), JSON.stringify(answer)).toMatchObject({ isError: false });
    expect.soft(run.notices, JSON.stringify(answer)).toEqual([]);
  }
});

const odd = (name: string, execute: () => unknown): Tool => ({
  name,
  description: name,
  parameters: { type: "object" },
  execute: execute as Tool["execute"],
});

const circle: Record<string, unknown> = {};
circle.self = circle;

test("a tool with an unusable result has an error as its result", async () => {
  for (const [row, execute, text] of [
    ["nothing", (): unknown => undefined, "returned an invalid result"],
    ["a promise of a text", async (): Promise<unknown> => "text", "returned an invalid result"],
    [
      "content of another kind",
      async () => ({ content: [{ type: "video" }] }),
      "items other than texts and images",
    ],
    [
      "a throw at once",
      (): never => {
        throw new Error("no");
      },
      "no",
    ],
    ["a rejection with a text", () => Promise.reject("plain"), "plain"],
    [
      "details that are a circle",
      async () => ({ content: [], details: circle }),
      "Cannot store the tool's result",
    ],
  ] as const) {
    const run = scriptedAgent({ tools: [odd("odd", execute)], turn: [{ calls: [{ name: "odd" }] }, done] });
    expect.soft((await run.agent.prompt("go")).status, row).toBe("done");
    const result = run.turns[1]!.messages.at(-1)!;
    expect.soft(result, row).toMatchObject({ role: "toolResult", isError: true });
    expect.soft(JSON.stringify(result), row).toContain(text);
  }
});

test("a provider that throws something unforeseen ends the run with an error, and what it said is kept", async () => {
  const run = scriptedAgent({
    turn: () => {
      throw new RangeError("out of cheese");
    },
  });
  const { status, error, answer } = await run.agent.prompt("go");
  expect(status).toBe("failed");
  expect(error?.message).toContain("out of cheese");
  expect(answer).toMatchObject({ stopReason: "error" });
  expect(run.agent.isBusy).toBe(false);
});

test("a system prompt that cannot be made is an error before anything is stored, and the text is handed back", async () => {
  const run = scriptedAgent({
    turn: [],
    systemPrompt: () => {
      throw new Error("no template");
    },
  });
  const { status, error, unsent } = await run.agent.prompt("go");
  expect({ status, code: error?.code }).toEqual({ status: "failed", code: "run_failed" });
  expect(unsent).toMatchObject([{ text: "go" }]);
  expect(run.session.path()).toEqual([]);
});
