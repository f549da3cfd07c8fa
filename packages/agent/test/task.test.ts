import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileOperations } from "@bonsai-agent/compaction";
import { contentText } from "@bonsai-agent/messages";
import { ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession, listSessions, openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { z } from "zod";
import type { AgentNotice } from "../src/notice.ts";
import { openAgent } from "../src/open-agent.ts";
import { agentSettings } from "../src/settings.ts";
import type { TaskDetails, TaskUpdate } from "../src/task-tool.ts";
import { defineTool } from "../src/tools/tool-registry.ts";
import {
  delegate,
  delegating,
  detailsOf,
  isSubAgent,
  model,
  parentWith,
  type ScriptedModel,
  taskResults,
} from "./parent-with-task.ts";
import { testFolder } from "./scripted-agent.ts";

const firstText = ({ messages }: ProviderCall) => contentText((messages[0] as { content: unknown }).content);

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
    calls: [
      { text: "read b.ts", state: "done" },
      { text: "read a.ts", state: "done" },
      { text: "write c.ts", state: "done" },
    ],
    callCount: 3,
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

test("a sub-agent of a session in memory writes nothing to the disk", async () => {
  const { agent, session } = parentWith(delegating(worker), { inMemory: true });
  await agent.prompt("go");
  const [result] = taskResults(session);
  expect(result?.isError).toBe(false);
  expect(result?.details).not.toHaveProperty("sessionFile");
  expect(detailsOf(session).modifiedFiles).toEqual(["c.ts"]);
});

test("several sub-agents run side by side, each with a session of its own", async () => {
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
    "Turn 1, N tokens: the model is answering",
    "Turn 1, N tokens: read b.ts",
    "Turn 2, N tokens: the model is answering",
    "Turn 2, N tokens: read a.ts",
    "Turn 2, N tokens: write c.ts",
    "Turn 3, N tokens: the model is answering",
  ]);
  expect(existsSync(updates[0]?.details.sessionFile ?? "")).toBe(true);
  expect(updates.at(-1)?.details.usage.totalTokens).toBeGreaterThan(0);
});

test("an opened agent has the tool, its sub-agents have not, and no notice says that it is missing there", async () => {
  const folder = testFolder();
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
