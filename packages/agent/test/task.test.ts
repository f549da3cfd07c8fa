import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileOperations } from "@bonsai-agent/compaction";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { contentText, type ToolResultMessage, toolCalls } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  ModelClient,
  type ProviderCall,
  type ScriptedModel,
  scriptedProvider,
} from "@bonsai-agent/models";
import { createSession, listSessions, openSession, type Session } from "@bonsai-agent/session";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../src/agent.ts";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import type { AgentNotice } from "../src/notice.ts";
import { openAgent } from "../src/open-agent.ts";
import { agentSettings } from "../src/settings.ts";
import { type TaskDetails, type TaskUpdate, taskTool } from "../src/task-tool.ts";
import { defineTool, type Tool } from "../src/tool-registry.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-task-"));
afterAll(() => rmSync(folder, { recursive: true }));

const model: CatalogueModel = {
  provider: "scripted",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
  usdPerMillionTokens: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
};

const read = defineTool({
  name: "read",
  description: "Reads.",
  parameters: z.object({ path: z.string() }),
  execute: async ({ input }) => ({ content: [{ type: "text", text: `text of ${input.path}` }] }),
});
const write = defineTool({
  name: "write",
  description: "Writes.",
  parameters: z.object({ path: z.string(), content: z.string() }),
  execute: async ({ input: { path } }) => ({
    content: [{ type: "text", text: "ok" }],
    details: { path, added: 3, removed: 1 },
  }),
});

let files = 0;

/** A parent with the tool, and whatever its model and its sub-agents' model say. */
function parentWith(
  play: ScriptedModel,
  options: { inMemory?: boolean; tools?: Tool[]; compaction?: object; limits?: object } = {},
) {
  const session = createSession({
    cwd: "/project",
    ...(options.inMemory ? {} : { file: join(folder, `${files++}`, "parent.jsonl") }),
  });
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  const calls: ProviderCall[] = [];
  const models = new ModelClient({
    retry: { baseDelayMs: 0 },
    providers: {
      scripted: async () =>
        scriptedProvider((call) => {
          calls.push(call);
          return play(call);
        }),
    },
  });
  const settings = agentSettings({
    titles: false,
    retry: { baseDelayMs: 0 },
    ...(options.limits && { limits: options.limits }),
    compaction: { keepRecentTokens: 2_000, ...options.compaction },
  });
  const common = { models, model, settings, systemPrompt: "You are a test." };
  const tools = [read, write, ...(options.tools ?? [])];
  const task = taskTool({
    session,
    lifecycle,
    startAgent: (own) => new Agent({ ...common, ...own, tools, isSubAgent: true }),
  });
  const agent = new Agent({ ...common, session, lifecycle, tools: [...tools, task] });
  return { agent, session, lifecycle, calls };
}

const isSubAgent = ({ tools }: ProviderCall) => !tools.some(({ name }) => name === "task");
const firstText = ({ messages }: ProviderCall) => contentText((messages[0] as { content: unknown }).content);
const delegate = (prompt = "Look into it.") => ({
  name: "task",
  arguments: { description: "Look into it", prompt },
});

function taskResults(session: Session): ToolResultMessage[] {
  return session
    .entries()
    .flatMap((entry) =>
      entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
    )
    .filter(({ toolName }) => toolName === "task");
}

function detailsOf(session: Session): TaskDetails {
  return taskResults(session)[0]!.details as TaskDetails;
}

/** The parent delegates once and then ends; the sub-agent does as told. */
function delegating(sub: ScriptedModel): ScriptedModel {
  return (call) => {
    if (isSubAgent(call)) return sub(call);
    return call.messages.length === 1 ? { calls: [delegate()] } : { text: "All done." };
  };
}

const worker: ScriptedModel = ({ messages }) => {
  const done = messages.filter(({ role }) => role === "toolResult").length;
  if (done === 0) return { calls: [{ name: "read", arguments: { path: "b.ts" } }] };
  if (done === 1)
    return {
      calls: [
        { name: "read", arguments: { path: "a.ts" } },
        { name: "write", arguments: { path: "c.ts", content: "x" } },
      ],
    };
  return { text: "It is the parser.", usage: { input: 100, output: 10 } };
};

test("the last answer is the result; files, turns and usage go with it", async () => {
  const { agent, session, calls } = parentWith(delegating(worker));
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(contentText(result?.content)).toBe("It is the parser.");
  expect(result?.isError).toBe(false);
  const details = detailsOf(session);
  expect(details).toMatchObject({
    readFiles: ["a.ts", "b.ts"],
    modifiedFiles: ["c.ts"],
    changedFiles: [{ path: "c.ts", added: 3, removed: 1 }],
    turns: 3,
  });
  expect(result?.usage).toEqual(details.usage);
  expect(details.usage.cost.total).toBeGreaterThan(0);
  const parentMessages = session
    .entries()
    .flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  expect(fileOperations(parentMessages)).toMatchObject({ modified: ["c.ts"] });
  const [sub] = calls.filter(isSubAgent);
  expect(firstText(sub!)).toMatch(/^Look into it\.\n\n\[You work on this alone/);
  expect(sub?.tools.map(({ name }) => name)).toEqual(["read", "write"]);
});

test("the session of a sub-agent can be opened, names its parent, and is not listed", async () => {
  const { agent, session } = parentWith(delegating(worker));
  await agent.prompt("go");
  const { sessionFile } = detailsOf(session);
  const own = openSession(sessionFile!);
  expect(own.header).toMatchObject({ parentSession: session.file, cwd: "/project" });
  expect(own.name).toBe("Look into it");
  expect(own.projection().items).toHaveLength(7);
  expect(statSync(sessionFile!).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(sessionFile!)).mode & 0o777).toBe(0o700);
  expect(listSessions({ folder: dirname(session.file!) }).sessions.map(({ id }) => id)).toEqual([session.id]);
});

test("beside a session in memory, nothing is written to the disk", async () => {
  const { agent, session } = parentWith(delegating(worker), { inMemory: true });
  await agent.prompt("go");
  const [result] = taskResults(session);
  expect(result?.isError).toBe(false);
  expect(result?.details).not.toHaveProperty("sessionFile");
  expect(detailsOf(session).modifiedFiles).toEqual(["c.ts"]);
});

test("several run side by side, each with a session of its own", async () => {
  const begun: string[] = [];
  let release = () => {};
  const both = new Promise<void>((resolve) => {
    release = resolve;
  });
  const wait = defineTool({
    name: "wait",
    description: "Ends when both have come.",
    parameters: z.object({ who: z.string() }),
    execute: async ({ input }) => {
      begun.push(input.who);
      if (begun.length === 2) release();
      await both;
      return { content: [{ type: "text", text: "ok" }] };
    },
  });
  const { agent, session } = parentWith(
    (call) => {
      if (!isSubAgent(call)) {
        return call.messages.length === 1 ? { calls: [delegate("one"), delegate("two")] } : { text: "Done." };
      }
      const [who] = firstText(call).split("\n");
      return call.messages.length === 1
        ? { calls: [{ name: "wait", arguments: { who } }] }
        : { text: `answer ${who}` };
    },
    { tools: [wait] },
  );
  await agent.prompt("go");
  const results = taskResults(session);
  expect(results.map(({ content }) => contentText(content))).toEqual(["answer one", "answer two"]);
  expect(new Set(results.map(({ details }) => (details as TaskDetails).sessionFile)).size).toBe(2);
});

test("over the threshold nothing is compacted in a sub-agent; an overflow in it still recovers", async () => {
  let refused = 0;
  const { agent, session } = parentWith(
    delegating(({ purpose, messages }) => {
      if (purpose === "summary") return { error: { status: 401, message: "no key" } };
      const done = messages.filter(({ role }) => role === "toolResult").length;
      if (refused > 0) return { text: "Found it." };
      if (done >= 6) {
        refused += 1;
        return { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
      }
      return { text: "word ".repeat(2_500), calls: [{ name: "read", arguments: { path: `f${done}.ts` } }] };
    }),
  );
  await agent.prompt("go");
  const [result] = taskResults(session);
  expect(contentText(result?.content)).toBe("Found it.");
  expect(refused).toBe(1);
  const own = openSession(detailsOf(session).sessionFile!).entries();
  const compactions = own.filter(({ type }) => type === "compaction");
  expect(compactions).toHaveLength(1);
  expect(compactions[0]).toMatchObject({ details: { manifest: { reason: "overflow" } } });
  // What it read before it was compacted is told all the same.
  expect(detailsOf(session).readFiles).toEqual(["f0.ts", "f1.ts", "f2.ts", "f3.ts", "f4.ts", "f5.ts"]);
});

test("a failure gives the parent the causes, and what was modified until then", async () => {
  const { agent, session } = parentWith(
    delegating(({ messages }) =>
      messages.length === 1
        ? { calls: [{ name: "write", arguments: { path: "c.ts", content: "x" } }] }
        : { error: { status: 401, message: "the key was revoked" } },
    ),
  );
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(result?.isError).toBe(true);
  expect(contentText(result?.content)).toMatch(/failed.*the key was revoked.*had modified: c\.ts/);
  expect(result?.details).toMatchObject({ modifiedFiles: ["c.ts"], turns: 2 });
});

test("an overflow that nothing helps against gives the parent both causes", async () => {
  const { agent, session } = parentWith(
    delegating(({ purpose, messages }) => {
      if (purpose === "summary") return { error: { status: 401, message: "the summariser has no key" } };
      const done = messages.filter(({ role }) => role === "toolResult").length;
      if (done >= 4)
        return { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
      return { text: "word ".repeat(2_500), calls: [{ name: "read", arguments: { path: `f${done}.ts` } }] };
    }),
    { compaction: { summarizer: { fallback: "never" } } },
  );
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(result?.isError).toBe(true);
  expect(contentText(result?.content)).toMatch(/the summariser has no key[\s\S]*prompt is too long/);
});

test("an answer without a word is a failure", async () => {
  const { agent, session } = parentWith(delegating(() => ({ text: "" })));
  await agent.prompt("go");
  expect(taskResults(session)[0]).toMatchObject({ isError: true });
  expect(contentText(taskResults(session)[0]?.content)).toContain("gave no answer");
});

test("stopping the parent stops its sub-agents, and leaves a result for each call", async () => {
  let agent: Agent | undefined;
  const stop = defineTool({
    name: "stop",
    description: "Stops the parent.",
    parameters: z.object({}),
    execute: async ({ signal }) => {
      void agent?.abort();
      await Promise.resolve();
      expect(signal.aborted).toBe(true);
      return { content: [{ type: "text", text: "stopped" }] };
    },
  });
  const parent = parentWith(
    delegating(() => ({ calls: [{ name: "stop", arguments: {} }] })),
    { tools: [stop] },
  );
  agent = parent.agent;
  expect((await agent.prompt("go")).status).toBe("aborted");
  const [result] = taskResults(parent.session);
  expect(result?.isError).toBe(true);
  expect(contentText(result?.content)).toMatch(/stopped/i);
  const answered = new Set(taskResults(parent.session).map(({ toolCallId }) => toolCallId));
  const entries = parent.session.entries();
  const asked = entries.flatMap((entry) => (entry.type === "message" ? toolCalls(entry.message) : []));
  expect(asked.every(({ id }) => answered.has(id))).toBe(true);
});

test("guards of the parent's tools hold in a sub-agent; its messages fire no events of the parent's", async () => {
  const { agent, session, lifecycle } = parentWith(delegating(worker));
  const guarded: string[] = [];
  const told: string[] = [];
  lifecycle.on("tool_call", ({ toolName, input }) => {
    guarded.push(toolName);
    if (toolName === "read") input.path = `safe/${input.path}`;
    return toolName === "write" ? { block: true, reason: "nothing may be written" } : undefined;
  });
  lifecycle.on("tool_result", ({ toolName, content }) =>
    toolName === "read" ? { content: [...content, { type: "text", text: "(checked)" }] } : undefined,
  );
  lifecycle.on("tool_execution_start", ({ toolName }) => void told.push(toolName));
  await agent.prompt("go");
  expect(guarded).toEqual(["task", "read", "read", "write"]);
  expect(told).toEqual(["task"]);
  const own = openSession(detailsOf(session).sessionFile!);
  const texts = own
    .projection()
    .items.map(({ message }) => ("content" in message ? contentText(message.content) : ""));
  expect(texts.join("\n")).toContain("text of safe/b.ts\n(checked)");
  expect(texts.join("\n")).toContain("nothing may be written");
});

test("while it works, it shows its turns, its tokens and what it is doing", async () => {
  const { agent, lifecycle } = parentWith(delegating(worker));
  const updates: { text: string; details: TaskUpdate }[] = [];
  lifecycle.on("tool_execution_update", ({ partialResult }) => {
    updates.push({ text: contentText(partialResult.content), details: partialResult.details as TaskUpdate });
  });
  await agent.prompt("go");
  expect(updates.map(({ text }) => text.replace(/[\d,]+ tokens/, "N tokens"))).toEqual([
    "Turn 1, N tokens: the model answers",
    "Turn 1, N tokens: read b.ts",
    "Turn 2, N tokens: the model answers",
    "Turn 2, N tokens: read a.ts",
    "Turn 2, N tokens: write c.ts",
    "Turn 3, N tokens: the model answers",
  ]);
  expect(existsSync(updates[0]?.details.sessionFile ?? "")).toBe(true);
  expect(updates.at(-1)?.details.usage.totalTokens).toBeGreaterThan(0);
});

test("an opened agent has the tool, its sub-agents have not, and no notice says that it is missing there", async () => {
  const session = createSession({ cwd: folder });
  const notices: AgentNotice[] = [];
  const offered: string[][] = [];
  const play: ScriptedModel = (call) => {
    offered.push(call.tools.map(({ name }) => name));
    return delegating(() => ({ text: "It is the parser." }))(call);
  };
  const agent = await openAgent({
    session,
    cwd: folder,
    home: folder,
    settings: agentSettings({ titles: false, tools: ["read", "task"] }),
    models: new ModelClient({ providers: { scripted: async () => scriptedProvider(play) } }),
    model,
    onNotice: (notice) => notices.push(notice),
  });
  expect((await agent.prompt("go")).status).toBe("done");
  expect(offered.map((names) => names.toSorted())).toEqual([["read", "task"], ["read"], ["read", "task"]]);
  expect(contentText(taskResults(session)[0]?.content)).toBe("It is the parser.");
  expect(notices).toEqual([]);
});

test.each<[string, ScriptedModel, RegExp]>([
  [
    "makes requests without end",
    () => ({ calls: [{ name: "read", arguments: { path: "a.ts" } }] }),
    /^The sub-agent failed. The model was asked 3 times in a row without a word/,
  ],
  [
    "thinks and says nothing",
    () => ({ thinking: "Hm." }),
    /^The sub-agent failed. scripted\/actor gave no answer/,
  ],
])("a sub-agent that %s tells its parent", async (_name, sub, told) => {
  const { agent, session } = parentWith(delegating(sub), { limits: { runRequests: 3 } });
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(result).toMatchObject({ isError: true });
  expect(contentText(result!.content)).toMatch(told);
});
