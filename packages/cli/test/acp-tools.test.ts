import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type * as acp from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { AcpClient } from "./acp-client.ts";
import { agentProject } from "./agent-project.ts";

const extension = (name: string) => fileURLToPath(new URL(`../../../extensions/${name}`, import.meta.url));

function calls(...list: { name: string; arguments: Record<string, unknown> }[]) {
  return { contextWindow: 100_000, turn: [...list.map((call) => ({ calls: [call] })), { text: "Done." }] };
}

const choose =
  (kind: acp.PermissionOptionKind) =>
  ({ options }: acp.RequestPermissionRequest) =>
    options.find((option) => option.kind === kind)?.optionId;

describe("tools in an editor", () => {
  test("calls have kinds, places, diffs, output and a plan", async () => {
    const project = agentProject(
      calls(
        { name: "read", arguments: { path: "a.txt", offset: 2 } },
        { name: "write", arguments: { path: "new.txt", content: "one\n" } },
        { name: "edit", arguments: { path: "a.txt", oldText: "two", newText: "2" } },
        { name: "bash", arguments: { command: "echo `printf x`" } },
        { name: "todo", arguments: { action: "add", texts: ["first", "second"] } },
      ),
      { "a.txt": "one\ntwo\nthree\n" },
    );
    const { client } = await AcpClient.open(project, { argv: ["-e", extension("todo")] });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "work");
    const path = join(project.cwd, "a.txt");
    expect(client.of("tool_call")).toMatchObject([
      { name: "read", kind: "read", title: expect.stringContaining("a.txt"), locations: [{ path, line: 2 }] },
      { name: "write", kind: "edit", content: [{ type: "diff", oldText: null, newText: "one\n" }] },
      { name: "edit", kind: "edit", content: [{ type: "diff", path, oldText: "two", newText: "2" }] },
      { name: "bash", kind: "execute", rawInput: { command: "echo `printf x`" } },
      { name: "todo", kind: "think" },
    ]);
    const ended = client.of("tool_call_update").filter(({ status }) => status != null);
    expect(ended.every(({ status }) => status === "completed")).toBe(true);
    expect(ended[2]).toMatchObject({
      content: [{ type: "diff", path, oldText: "one\ntwo\nthree", newText: "one\n2\nthree" }],
      locations: [{ path, line: 2 }],
    });
    expect(ended[3]?.content).toEqual([{ type: "content", content: { type: "text", text: "```\nx\n```" } }]);
    expect(client.of("plan").at(-1)?.entries).toEqual([
      { content: "first", priority: "medium", status: "in_progress" },
      { content: "second", priority: "medium", status: "pending" },
    ]);
    await client.leave();
    const { client: later } = await AcpClient.open(project, { argv: ["-e", extension("todo")] });
    await later.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(later.of("tool_call").map(({ title }) => title)).toEqual(
      client.of("tool_call").map(({ title }) => title),
    );
    expect(later.of("plan")).toHaveLength(1);
    await later.leave();
  });

  test("a path outside the project is a permission, and always allow is a grant of the project", async () => {
    const project = agentProject(calls({ name: "read", arguments: { path: "../out/a.txt" } }));
    mkdirSync(join(project.cwd, "../out"));
    writeFileSync(join(project.cwd, "../out/a.txt"), "outside");
    const { client } = await AcpClient.open(project, { permit: choose("allow_always") });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "read it");
    const [{ options, toolCall }] = client.permissions as [acp.RequestPermissionRequest];
    expect(options.map(({ kind }) => kind).sort()).toEqual([
      ...["allow_always", "allow_once", "reject_always", "reject_once"],
    ]);
    expect(toolCall.toolCallId).toBe(client.of("tool_call")[0]?.toolCallId);
    expect(client.of("tool_call_update").at(-1)).toMatchObject({ status: "completed" });
    expect(readFileSync(join(project.home, "trust.json"), "utf8")).toContain('"access": "read"');
    const second = await client.newSession();
    await client.prompt(second.sessionId, "read it");
    expect(client.permissions).toHaveLength(1);
    await client.leave();
  });

  test("a guard's question is asked once if the user always rejects it", async () => {
    const bash = { name: "bash", arguments: { command: "rm -rf important" } };
    const project = agentProject(calls(bash, bash));
    const { client } = await AcpClient.open(project, {
      argv: ["-e", extension("permission-gate")],
      permit: choose("reject_always"),
    });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "clean");
    expect(client.permissions).toHaveLength(1);
    expect(client.permissions[0]?.options.map(({ kind }) => kind)).toEqual([
      ...["allow_once", "allow_always", "reject_once", "reject_always"],
    ]);
    const ended = client.of("tool_call_update").filter(({ status }) => status === "failed");
    expect(ended).toHaveLength(2);
    await client.leave();
  });

  test("the client's files are read with unsaved changes, and written through the client", async () => {
    const project = agentProject(
      calls(
        { name: "read", arguments: { path: "a.txt" } },
        { name: "edit", arguments: { path: "a.txt", oldText: "unsaved", newText: "changed" } },
        { name: "write", arguments: { path: "new/b.txt", content: "b" } },
      ),
      { "a.txt": "saved\n" },
    );
    const written: acp.WriteTextFileRequest[] = [];
    const { client } = await AcpClient.open(project, {
      capabilities: { fs: { readTextFile: true, writeTextFile: true } },
      requests: {
        "fs/read_text_file": () => ({ content: "unsaved\n" }),
        "fs/write_text_file": (params: acp.WriteTextFileRequest) => {
          written.push(params);
          return {};
        },
      },
    });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "work");
    const path = (name: string) => join(project.cwd, name);
    expect(JSON.stringify(client.of("tool_call_update")[0])).toContain("unsaved");
    expect(written).toMatchObject([
      { sessionId, path: path("a.txt"), content: "changed\n" },
      { sessionId, path: path("new/b.txt"), content: "b" },
    ]);
    expect(readFileSync(path("a.txt"), "utf8")).toBe("saved\n");
    await client.leave();
  });

  test("a command runs in a terminal of the client, and a cancel kills it", async () => {
    const project = agentProject(calls({ name: "bash", arguments: { command: "sleep 100" } }));
    const asked: string[] = [];
    const exit = Promise.withResolvers<object>();
    const released = Promise.withResolvers<void>();
    const note = (name: string, answer: unknown) => () => {
      asked.push(name);
      if (name === "kill") exit.resolve({ signal: "SIGKILL" });
      if (name === "release") released.resolve();
      return answer;
    };
    const { client } = await AcpClient.open(project, {
      capabilities: { terminal: true },
      requests: {
        "terminal/create": note("create", { terminalId: "t1" }),
        "terminal/wait_for_exit": note("wait", exit.promise),
        "terminal/output": note("output", { output: "part", truncated: false }),
        "terminal/kill": note("kill", {}),
        "terminal/release": note("release", {}),
      },
    });
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "wait");
    const shown = await client.wait(({ update }) => JSON.stringify(update).includes('"terminalId"'));
    expect(shown).toMatchObject({ content: [{ type: "terminal", terminalId: "t1" }] });
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    await released.promise;
    await client.leave();
    expect(asked).toEqual(["create", "wait", "kill", "output", "release"]);
  });

  test("links become mentions, and embedded texts follow the prompt", async () => {
    const project = agentProject({ contextWindow: 100_000, turn: [{ text: "ok" }] });
    const { client } = await AcpClient.open(project);
    const { sessionId } = await client.newSession();
    const uri = `file://${join(project.cwd, "a b.txt")}`;
    await client.agent.request("session/prompt", {
      sessionId,
      prompt: [
        { type: "text", text: "compare " },
        { type: "resource_link", uri, name: "a b.txt" },
        { type: "text", text: " with " },
        { type: "resource", resource: { uri: `file://${project.cwd}/c.ts#L1:2`, text: "code" } },
        { type: "image", data: "aGk=", mimeType: "image/png" },
      ],
    });
    await client.leave();
    const { client: later } = await AcpClient.open(project);
    await later.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(later.text("user_message_chunk")).toBe(
      'compare @"a b.txt" with @c.ts#L1:2\n\n<file path="c.ts#L1:2">\ncode\n</file>[image]',
    );
    await later.leave();
  });
});
