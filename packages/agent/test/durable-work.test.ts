import { emptyUsage } from "@bonsai-agent/messages";
import { type CallState, createSession, type LedgerCall, MemoryStore } from "@bonsai-agent/session";
import { expect, onTestFinished, test, vi } from "vitest";
import { Agent } from "../src/agent.ts";
import type { Tool } from "../src/tools/tool-registry.ts";
import { done, scriptedAgent } from "./scripted-agent.ts";

/** A store whose other hosts see the bytes of the last `durable`. */
class FakeSharedStore extends MemoryStore {
  storedBytes = 0;
  readonly states = new Map<string, CallState>();
  readonly #notes: (LedgerCall & { state: CallState })[] = [];
  /** The error of every later `durable`. */
  failure: Error | undefined;
  readonly ledger = {
    note: (call: LedgerCall, state: CallState) => void this.#notes.push({ ...call, state }),
    state: async (id: string) => this.states.get(id),
  };

  async durable(): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    await new Promise((resolve) => setImmediate(resolve));
    this.storedBytes = this.size();
    for (const { id, state } of this.#notes.splice(0)) this.states.set(id, state);
  }
}

const tool = (name: string, effects: Tool["effects"], onRun: (id: string) => void = () => {}): Tool => ({
  ...{ name, effects, description: "Works.", parameters: { type: "object" } },
  execute: async ({ toolCallId }) => {
    onRun(toolCallId);
    return { content: [{ type: "text", text: "worked" }] };
  },
});

function sharedAgent(
  options: Omit<Parameters<typeof scriptedAgent>[0], "session">,
  given = new FakeSharedStore(),
) {
  const session = createSession({ cwd: "/project", store: given });
  return { store: given, ...scriptedAgent({ ...options, session, durability: "shared" }) };
}

test("everything is stored before a request leaves, before a tool with effects starts and before the answer", async () => {
  const seen: string[] = [];
  const lag = () => (store.size() === store.storedBytes ? "stored" : "behind");
  const { agent, store } = sharedAgent({
    turn: ({ messages }) => {
      seen.push(`request ${messages.length}: ${lag()}`);
      const calls = ["reads", "adds", "sends"].map((name) => ({ name, arguments: {} }));
      return messages.length === 1 ? { calls } : done;
    },
    tools: [
      { ...tool("reads", "none", () => seen.push("reads")), executionMode: "sequential" },
      { ...tool("adds", "idempotent", () => seen.push(`adds: ${lag()}`)), executionMode: "sequential" },
      { ...tool("sends", undefined, () => seen.push(`sends: ${lag()}`)), executionMode: "sequential" },
    ],
  });
  expect((await agent.prompt("go")).status).toBe("done");
  seen.push(`answer: ${lag()}`);
  expect(seen).toEqual([
    "request 1: stored",
    "reads",
    "adds: stored",
    "sends: stored",
    "request 5: stored",
    "answer: stored",
  ]);
  expect([...store.states].map(([id, state]) => [id.replace(/^\w+:/, ""), state])).toEqual([
    ["call-2", "settled"],
    ["call-3", "settled"],
  ]);
});

test("the model learns which interrupted calls may have run", async () => {
  const store = new FakeSharedStore();
  const session = createSession({ cwd: "/project", store });
  const names = ["reads", "adds", "sends", "waits"];
  session.append({ type: "message", message: { role: "user", content: "go", timestamp: 1 } });
  const { id: entryId } = session.append({
    type: "message",
    message: {
      ...{
        role: "assistant",
        api: "scripted",
        provider: "scripted",
        model: "actor",
        usage: emptyUsage(),
        stopReason: "toolUse",
        timestamp: 2,
      },
      content: names.map((name) => ({ type: "toolCall" as const, id: name, name, arguments: {} })),
    },
  });
  for (const name of ["adds", "sends"]) store.states.set(`${entryId}:${name}`, "started");
  store.states.set(`${entryId}:waits`, "asked");
  const run: string[] = [];
  const ran = (id: string) => void run.push(id);
  const { agent } = scriptedAgent({
    ...{ session, durability: "shared", turn: [done] },
    tools: [
      tool("reads", "none", ran),
      tool("adds", "idempotent", ran),
      tool("sends", "once", ran),
      tool("waits", "once", ran),
    ],
  });
  await agent.prompt("continue");
  const results = session
    .projection()
    .items.flatMap(({ message }) =>
      message.role === "toolResult" ? [[message.toolName, JSON.stringify(message.content)]] : [],
    );
  expect(run).toEqual([]);
  expect(Object.fromEntries(results)).toEqual({
    reads: expect.not.stringMatching(/run|start/),
    adds: expect.stringContaining("can safely call it again"),
    sends: expect.stringContaining("may have run"),
    waits: expect.stringContaining("did not start"),
  });
});

test("a lost lease stops the run before its next tool and its next request", async () => {
  const run: string[] = [];
  const { agent, store, turns } = sharedAgent({
    turn: () => {
      store.failure = Object.assign(new Error("Another host works on it."), { code: "session_lease_lost" });
      return { calls: [{ name: "sends", arguments: {} }] };
    },
    tools: [tool("sends", "once", (id) => run.push(id))],
  });
  const result = await agent.prompt("go");
  expect(result.status).toBe("failed");
  expect(run).toEqual([]);
  expect(turns).toHaveLength(1);
});

test("an abort ends the wait for a database that is away", async () => {
  const { agent, store, turns } = sharedAgent({ turn: [done] });
  store.durable = () => new Promise(() => {});
  const result = agent.prompt("go");
  await new Promise((resolve) => setImmediate(resolve));
  await agent.abort();
  expect((await result).status).toBe("aborted");
  expect(turns).toEqual([]);
});

test("a notice tells why the agent waits for a database that is away", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const notices: string[] = [];
  const { agent, store } = sharedAgent({ turn: [done], onNotice: ({ code }) => notices.push(code) });
  const answer = Promise.withResolvers<void>();
  store.durable = () => answer.promise;
  const result = agent.prompt("go");
  await new Promise((resolve) => setImmediate(resolve));
  vi.runAllTimers();
  answer.resolve();
  expect((await result).status).toBe("done");
  expect(notices).toEqual(["database_slow"]);
});

test("an abort ends the wait for a database that is away after the answer", async () => {
  const { agent, store } = sharedAgent({
    turn: () => {
      store.durable = () => {
        setImmediate(() => void agent.abort());
        return new Promise(() => {});
      };
      return done;
    },
  });
  expect((await agent.prompt("go")).status).toBe("aborted");
});

test("an agent refuses the durability `shared` for a session of one host", () => {
  expect(() => scriptedAgent({ turn: [], durability: "shared" })).toThrow(
    expect.objectContaining({ code: "session_not_shared" }),
  );
  expect(scriptedAgent({ turn: [] }).agent).toBeInstanceOf(Agent);
});
