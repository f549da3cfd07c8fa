import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { isEnd, isUpdate, RpcSession, slow } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

describe("--mode rpc: sessions", () => {
  test("switch_session uses the session's own model, new_session the last one", async () => {
    const project = agentProject(says("ok"));
    const other = join(project.home, "other.json");
    writeFileSync(other, JSON.stringify(says("other")));
    await runCli(["hi", "--model", `scripted/${other}`], { cwd: project.cwd, env: project.env });
    const { id } = listSessions(project).sessions[0]!;
    const rpc = new RpcSession(project);
    await rpc.ask({ type: "switch_session", sessionPath: id });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ data: { model: { id: other } } });
    await rpc.ask({ type: "new_session" });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ data: { model: { id: other } } });
    await rpc.end();
    const told = rpc.lines.map(({ type, reason }) => `${type} ${reason ?? ""}`.trim());
    expect(told.filter((line) => /^session(_start|_shutdown)?( |$)/.test(line))).toEqual([
      "session",
      "session_start startup",
      "session_shutdown resume",
      "session",
      "session_start resume",
      "session_shutdown new",
      "session",
      "session_start new",
      "session_shutdown quit",
    ]);
  });

  test("a notice reports another program's append to a new or an opened session", () =>
    everyRow(["new", "forked"])(async (kind) => {
      const rpc = new RpcSession(agentProject(says("ok")));
      await rpc.ask({ type: "prompt", message: "hi" });
      await rpc.wait(isEnd);
      const { leafId: entryId } = (await rpc.ask({ type: "get_state" })).data as { leafId: string };
      if (kind === "forked") await rpc.ask({ type: "fork", entryId, position: "at" });
      await rpc.ask({ type: "set_session_name", name: "ours" });
      const { sessionFile } = (await rpc.ask({ type: "get_state" })).data as { sessionFile: string };
      appendFileSync(sessionFile, '{"type":"session_info","id":"theirs","parentId":null,"name":"theirs"}\n');
      await rpc.end();
      const notices = rpc.lines.filter(({ type }) => type === "notice");
      expect(notices).toEqual([expect.objectContaining({ code: "foreign_entries" })]);
    }));

  test("a new session names no parent that has no file", async () => {
    const project = agentProject(says("ok"));
    const rpc = new RpcSession(project);
    await rpc.ask({ type: "new_session" });
    await rpc.ask({ type: "prompt", message: "one" });
    await rpc.wait(isEnd);
    const { sessionFile: parent } = (await rpc.ask({ type: "get_state" })).data as { sessionFile: string };
    await rpc.ask({ type: "new_session" });
    await rpc.end();
    const headers = rpc.lines.filter(({ type }) => type === "session");
    expect(headers.map(({ parentSession }) => parentSession)).toEqual([undefined, undefined, parent]);
  });

  test("new_session, switch_session and fork change the session, but not during a run", async () => {
    const project = agentProject(says("yes"));
    const rpc = new RpcSession(project);
    await rpc.ask({ type: "prompt", message: "one" });
    await rpc.wait(isEnd);
    const first = (await rpc.ask({ type: "get_state" })).data as { sessionId: string; leafId: string };
    const fresh = (await rpc.ask({ type: "new_session" })).data as { sessionId: string; cancelled: boolean };
    expect([fresh.cancelled, fresh.sessionId === first.sessionId]).toEqual([false, false]);
    const from = rpc.lines.length;
    await rpc.ask({ type: "prompt", message: "two" });
    await rpc.wait(isEnd, from);
    expect((await rpc.ask({ type: "switch_session", sessionPath: first.sessionId })).data).toMatchObject({
      sessionId: first.sessionId,
    });
    const { entries } = (await rpc.ask({ type: "get_entries" })).data as {
      entries: { id: string; message?: object }[];
    };
    const said = entries.find(({ message }) => message !== undefined)!;
    const fork = (await rpc.ask({ type: "fork", entryId: said.id, position: "at" })).data as {
      sessionFile: string;
    };
    expect(openSession(fork.sessionFile).projection().items).toHaveLength(1);
    expect(await rpc.ask({ type: "switch_session", sessionPath: "nosuch" })).toMatchObject({
      code: "session_not_found",
    });
    expect((await rpc.ask({ type: "get_state" })).data).toMatchObject({ sessionFile: fork.sessionFile });
    await rpc.end();
    const headers = rpc.lines.filter(({ type }) => type === "session");
    expect(headers).toHaveLength(4);
    expect(listSessions(project).sessions).toHaveLength(3);
  });

  test("a copy of a session without a model uses the call's model", async () => {
    const project = agentProject(says("yes"));
    const file = join(project.cwd, "no-model.jsonl");
    const timestamp = new Date(0).toISOString();
    const lines = [
      { type: "session", version: 3, id: "no-model", timestamp, cwd: project.cwd },
      {
        ...{ type: "message", id: "00000001", parentId: null, timestamp },
        message: { role: "user", content: "hi", timestamp: 0 },
      },
    ];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const rpc = new RpcSession(project, ["--session", file]);
    expect(await rpc.ask({ type: "fork", entryId: "00000001" })).toMatchObject({ success: true });
    expect((await rpc.ask({ type: "get_state" })).data).toMatchObject({ model: { provider: "scripted" } });
    expect(await rpc.ask({ type: "switch_session", sessionPath: file })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("a running session cannot be left", async () => {
    const rpc = new RpcSession(agentProject(slow));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    for (const command of [{ type: "new_session" }, { type: "switch_session", sessionPath: "x" }])
      expect(await rpc.ask(command)).toMatchObject({ success: false, code: "rpc_busy" });
    await rpc.ask({ type: "abort" });
    expect(await rpc.ask({ type: "new_session" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("get_tree gives a session of ten thousand entries in a row whole", async () => {
    const project = agentProject(says("yes"));
    const timestamp = new Date(0).toISOString();
    const lines: object[] = [{ type: "session", version: 3, id: "deep", timestamp, cwd: project.cwd }];
    for (let number = 0; number < 10_000; number += 1)
      lines.push({
        ...{ type: "message", id: `e${number}`, parentId: number === 0 ? null : `e${number - 1}`, timestamp },
        message: { role: "user", content: `${number}`, timestamp: 0 },
      });
    const file = join(project.cwd, "deep.jsonl");
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const rpc = new RpcSession(project, ["--session", file]);
    const { tree } = (await rpc.ask({ type: "get_tree" })).data as { tree: TreeNode[] };
    let count = 0;
    for (let node = tree[0]; node !== undefined; node = node.children[0]) count += 1;
    expect(count).toBe(10_000);
    await rpc.end();
  });

  interface TreeNode {
    entry: { id: string };
    children: TreeNode[];
  }

  test("a session in memory stays in memory", async () => {
    const project = agentProject(says("yes"));
    const rpc = new RpcSession(project, ["--no-session"]);
    await rpc.ask({ type: "prompt", message: "one" });
    await rpc.wait(isEnd);
    const { leafId } = (await rpc.ask({ type: "get_state" })).data as { leafId: string };
    expect((await rpc.ask({ type: "fork", entryId: leafId, position: "at" })).data).not.toHaveProperty(
      "sessionFile",
    );
    expect((await rpc.ask({ type: "new_session" })).data).not.toHaveProperty("sessionFile");
    await rpc.end();
    expect(listSessions({ home: project.home }).sessions).toEqual([]);
  });
});
