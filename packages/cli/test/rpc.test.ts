import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions, openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rpcCommands, uiRequests } from "../src/rpc/protocol.ts";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { isEnd, type RpcLine, RpcSession } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

const slow = {
  contextWindow: 100_000,
  turn: [{ calls: [{ name: "ls" }] }, { text: "slow", delayMs: 60_000 }],
};

function isUpdate({ type }: RpcLine): boolean {
  return type === "tool_execution_end";
}

describe("--mode rpc", () => {
  test("a prompt is answered when it is stored, and told of to its end", async () => {
    const project = agentProject(says("yes"));
    const rpc = new RpcSession(project);
    const response = await rpc.ask({ type: "prompt", message: "hi" });
    expect(response).toMatchObject({
      type: "response",
      command: "prompt",
      success: true,
      data: { queued: false },
    });
    const stored = rpc.lines.findIndex(({ type }) => type === "message_stored");
    expect(stored).toBeGreaterThan(0);
    expect(rpc.lines.indexOf(response)).toBeGreaterThan(stored);
    expect(await rpc.wait(isEnd)).toMatchObject({ result: { status: "done" } });
    expect(await rpc.ask({ type: "get_last_assistant_text" })).toMatchObject({ data: { text: "yes" } });
    expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
    expect(rpc.lines[0]).toMatchObject({ type: "session" });
  });

  test("the end of the input waits for the work", async () => {
    const { run } = agentProject(says("yes"));
    const stdin =
      '{"type":"prompt","message":"one"}\r\n\n{"id":7,"type":"follow_up","message":"two"}\n{"id":8,"type":"get_tree"}';
    const { code, stdout } = await run(["--mode", "rpc"], { stdin });
    const lines = jsonLines(stdout);
    expect(code).toBe(0);
    expect(lines.find(({ id }) => id === 7)).toMatchObject({ success: true, data: { queued: true } });
    expect(lines.find(({ id }) => id === 8)).toMatchObject({ success: true });
    const said = lines.filter(({ type }) => type === "turn_end");
    expect(said).toHaveLength(2);
    expect(lines.map(({ type }) => type).lastIndexOf("agent_end")).toBeGreaterThan(lines.indexOf(said[1]!));
  });

  test.each([
    ["not json", null, "rpc_line_unreadable"],
    ["[1]", null, "rpc_line_unreadable"],
    ["null", null, "rpc_line_unreadable"],
    ["{}", null, "rpc_command_unknown"],
    ['{"type":"promt","id":1}', "promt", "rpc_command_unknown"],
    ['{"type":"toString"}', "toString", "rpc_command_unknown"],
    ['{"type":"prompt"}', "prompt", "rpc_command_invalid"],
    ['{"type":"prompt","message":5}', "prompt", "rpc_command_invalid"],
    ['{"type":"prompt","message":""}', "prompt", "rpc_command_invalid"],
    ['{"type":"prompt","message":"x","imgaes":[]}', "prompt", "rpc_command_invalid"],
    ['{"type":"set_thinking_level","level":"hard"}', "set_thinking_level", "rpc_command_invalid"],
    ['{"type":"get_state","id":{}}', "get_state", "rpc_command_invalid"],
  ])("%s is answered, and nothing ends", async (line, command, code) => {
    const rpc = new RpcSession(agentProject(says("")));
    rpc.sendText(`${line}\n`);
    const response = await rpc.wait(({ type }) => type === "response");
    expect(response).toMatchObject({ command, success: false, error: { code } });
    expect(Object.keys(response.error as object)).toEqual(["code", "message", "hint"]);
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ success: true });
    expect((await rpc.end()).code).toBe(0);
  });

  test("an id is given back as it came", async () => {
    const rpc = new RpcSession(agentProject(says("")));
    for (const id of [0, -1.5, "", "é\u2028"])
      expect(await rpc.ask({ id, type: "get_state" })).toMatchObject({ id, success: true });
    rpc.sendText('\ufeff{"id":"marked","type":"get_state"}\n');
    expect(await rpc.wait(({ id }) => id === "marked")).toMatchObject({ success: true });
    rpc.send({ type: "get_tree" });
    expect(await rpc.wait(({ command }) => command === "get_tree")).not.toHaveProperty("id");
    await rpc.end();
  });

  test("a second prompt needs to say how it is delivered; steering and follow-ups are queued", async () => {
    const rpc = new RpcSession(agentProject(slow));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    expect(await rpc.ask({ type: "prompt", message: "more" })).toMatchObject({
      success: false,
      error: { code: "agent_busy" },
    });
    for (const command of [
      { type: "prompt", message: "a", streamingBehavior: "followUp" },
      { type: "steer", message: "b" },
      { type: "follow_up", message: "c" },
    ])
      expect(await rpc.ask(command)).toMatchObject({ success: true, data: { queued: true } });
    expect(await rpc.ask({ type: "abort" })).toMatchObject({ success: true });
    expect(await rpc.wait(isEnd)).toMatchObject({ result: { status: "aborted" } });
    expect((await rpc.end()).code).toBe(0);
    const unsent = rpc.lines.filter(({ type }) => type === "unsent") as { inputs: { message: string }[] }[];
    expect(unsent.map(({ inputs }) => inputs.map(({ message }) => message).toSorted())).toEqual([
      ["a", "b", "c"],
    ]);
  });

  test("state, messages, entries, tree and stats tell of one session", async () => {
    const rpc = new RpcSession(agentProject(says("yes")), ["--name", "mine"]);
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isEnd);
    const data = async (type: string) => (await rpc.ask({ type })).data as Record<string, unknown>;
    const state = await data("get_state");
    expect(state).toMatchObject({
      sessionName: "mine",
      isBusy: false,
      thinking: "off",
      model: { provider: "scripted" },
    });
    expect(state.model).not.toHaveProperty("baseUrl");
    const { messages } = await data("get_messages");
    expect((messages as { role: string }[]).map(({ role }) => role)).toEqual(["user", "assistant"]);
    const { entries, leafId } = await data("get_entries");
    expect((entries as { id: string }[]).some(({ id }) => id === leafId)).toBe(true);
    const { tree } = await data("get_tree");
    expect((tree as { preview: string }[]).some(({ preview }) => preview === "hi")).toBe(true);
    const stats = await data("get_session_stats");
    expect(stats).toMatchObject({
      name: "mine",
      counts: { user: 1, assistant: 1 },
      sessionId: state.sessionId,
    });
    await rpc.end();
  });

  test("model, thinking and name can be changed", async () => {
    const project = agentProject(says("yes"));
    const rpc = new RpcSession(project);
    const [, reference] = project.model;
    const modelId = reference.slice("scripted/".length);
    expect(await rpc.ask({ type: "set_model", provider: "scripted", modelId })).toMatchObject({
      success: true,
    });
    expect(await rpc.ask({ type: "set_model", provider: "nobody", modelId: "x" })).toMatchObject({
      success: false,
      error: { code: "provider_unknown" },
    });
    await rpc.ask({ type: "set_thinking_level", level: "high" });
    await rpc.ask({ type: "set_session_name", name: " new name " });
    expect(await rpc.ask({ type: "set_session_name", name: "  " })).toMatchObject({ success: false });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({
      data: { thinking: "high", sessionName: "new name" },
    });
    expect(await rpc.ask({ type: "get_available_models" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("navigate_tree moves, also with a summary; ids may be short", async () => {
    const rpc = new RpcSession(agentProject({ ...says("yes"), summary: [] }));
    for (const message of ["one", "two"]) {
      const from = rpc.lines.length;
      await rpc.ask({ type: "prompt", message });
      await rpc.wait(isEnd, from);
    }
    const { tree } = (await rpc.ask({ type: "get_tree" })).data as {
      tree: { id: string; preview: string }[];
    };
    const two = tree.find(({ preview }) => preview === "two")!.id;
    expect(await rpc.ask({ type: "navigate_tree", targetId: two, label: "again" })).toMatchObject({
      data: { status: "moved", editorText: "two" },
    });
    const { entries } = (await rpc.ask({ type: "get_entries" })).data as { entries: unknown[] };
    expect(entries.at(-1)).toMatchObject({ type: "label", targetId: two, label: "again" });
    expect(await rpc.ask({ type: "navigate_tree", targetId: "nosuch" })).toMatchObject({
      success: false,
      error: { code: "entry_not_found" },
    });
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: unknown[] };
    expect(messages).toHaveLength(2);
    await rpc.end();
  });

  test("a prompt that could not be stored is an error, and comes back as unsent", async () => {
    const project = agentProject(says("never"));
    const file = join(project.cwd, "later.jsonl");
    writeFileSync(
      file,
      '{"type":"session","version":9,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":""}\n',
    );
    const rpc = new RpcSession(project, ["--session", file]);
    const response = await rpc.ask({ type: "prompt", message: "hi" });
    expect(response).toMatchObject({ success: false, error: { code: "session_read_only" } });
    const notice = await rpc.wait(({ code }) => code === "read_only");
    expect(notice).toMatchObject({ type: "notice", message: expect.stringContaining(file) });
    const unsent = await rpc.wait(({ type }) => type === "unsent");
    expect(unsent).toMatchObject({ inputs: [{ message: "hi" }] });
    expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
  });

  test("a command sees what the one before it did, however fast they come", async () => {
    const project = agentProject(says("ok"));
    const other = join(project.home, "other.json");
    writeFileSync(other, JSON.stringify(says("other")));
    const rpc = new RpcSession(project);
    rpc.send({ type: "set_model", provider: "scripted", modelId: other });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ data: { model: { id: other } } });
    await rpc.end();
  });

  test("what follows an abort in the same breath finds the agent idle", async () => {
    const rpc = new RpcSession(agentProject(slow));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    rpc.send({ type: "abort" });
    expect(await rpc.ask({ type: "new_session" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("a session that is switched to goes on with its own model, a new one with the last", async () => {
    const project = agentProject(says("ok"));
    const other = join(project.home, "other.json");
    writeFileSync(other, JSON.stringify(says("other")));
    await runCli(["hi", "--model", `scripted/${other}`], { cwd: project.cwd, env: project.env });
    const { id } = listSessions(project).sessions[0]!;
    const rpc = new RpcSession(project);
    await rpc.ask({ type: "switch_session", session: id });
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

  test.each(["new", "forked"])(
    "who appends to a %s session as well is told of, as a notice",
    async (kind) => {
      const rpc = new RpcSession(agentProject(says("ok")));
      await rpc.ask({ type: "prompt", message: "hi" });
      await rpc.wait(isEnd);
      const { leafId: entryId } = (await rpc.ask({ type: "get_state" })).data as { leafId: string };
      if (kind === "forked") await rpc.ask({ type: "fork", entryId });
      await rpc.ask({ type: "set_session_name", name: "ours" });
      const { sessionFile } = (await rpc.ask({ type: "get_state" })).data as { sessionFile: string };
      appendFileSync(sessionFile, '{"type":"session_info","id":"theirs","parentId":null,"name":"theirs"}\n');
      await rpc.end();
      const notices = rpc.lines.filter(({ type }) => type === "notice");
      expect(notices).toEqual([expect.objectContaining({ code: "foreign_entries" })]);
    },
  );

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

  test("new_session, switch_session and fork go on in another session, and not while there is work", async () => {
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
    expect((await rpc.ask({ type: "switch_session", session: first.sessionId })).data).toMatchObject({
      sessionId: first.sessionId,
    });
    const { entries } = (await rpc.ask({ type: "get_entries" })).data as {
      entries: { id: string; message?: object }[];
    };
    const said = entries.find(({ message }) => message !== undefined)!;
    const fork = (await rpc.ask({ type: "fork", entryId: said.id })).data as { sessionFile: string };
    expect(openSession(fork.sessionFile).projection().items).toHaveLength(1);
    expect(await rpc.ask({ type: "switch_session", session: "nosuch" })).toMatchObject({
      error: { code: "session_not_found" },
    });
    expect((await rpc.ask({ type: "get_state" })).data).toMatchObject({ sessionFile: fork.sessionFile });
    await rpc.end();
    const headers = rpc.lines.filter(({ type }) => type === "session");
    expect(headers).toHaveLength(4);
    expect(listSessions(project).sessions).toHaveLength(3);
  });

  test("a copy of a session that names no model goes on with the model of the call", async () => {
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
    expect(await rpc.ask({ type: "switch_session", session: file })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("who has read agent_end can go on at once", async () => {
    const rpc = new RpcSession(agentProject(says("yes")));
    for (let round = 0; round < 5; round += 1) {
      const from = rpc.lines.length;
      expect(await rpc.ask({ type: "prompt", message: "hi" })).toMatchObject({ success: true });
      await rpc.wait(isEnd, from);
      if (round % 2 === 1) expect(await rpc.ask({ type: "new_session" })).toMatchObject({ success: true });
    }
    await rpc.end();
  });

  test("while there is work, the session cannot be left", async () => {
    const rpc = new RpcSession(agentProject(slow));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    for (const command of [{ type: "new_session" }, { type: "switch_session", session: "x" }])
      expect(await rpc.ask(command)).toMatchObject({ success: false, error: { code: "rpc_busy" } });
    await rpc.ask({ type: "abort" });
    expect(await rpc.ask({ type: "new_session" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("a session in memory stays in memory", async () => {
    const project = agentProject(says("yes"));
    const rpc = new RpcSession(project, ["--no-session"]);
    await rpc.ask({ type: "prompt", message: "one" });
    await rpc.wait(isEnd);
    const { leafId } = (await rpc.ask({ type: "get_state" })).data as { leafId: string };
    expect((await rpc.ask({ type: "fork", entryId: leafId })).data).not.toHaveProperty("sessionFile");
    expect((await rpc.ask({ type: "new_session" })).data).not.toHaveProperty("sessionFile");
    await rpc.end();
    expect(listSessions({ home: project.home }).sessions).toEqual([]);
  });

  test("bash runs beside the model, and is part of what it sees unless it is kept out", async () => {
    const rpc = new RpcSession(agentProject(says("yes")));
    expect(await rpc.ask({ type: "bash", command: "echo one" })).toMatchObject({
      success: true,
      data: { output: expect.stringContaining("one"), exitCode: 0 },
    });
    await rpc.ask({ type: "bash", command: "echo two", excludeFromContext: true });
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: object[] };
    expect(JSON.stringify(messages)).toContain("echo one");
    expect(JSON.stringify(messages)).not.toContain("echo two");
    await rpc.end();
  });

  test("compact that came to nothing is an error; the session goes on", async () => {
    const refuses = { error: { status: 400, message: "no summary today" } };
    const play = { ...says("yes"), contextWindow: 20_000, maxOutputTokens: 2_000, summary: [refuses] };
    const rpc = new RpcSession(agentProject(play));
    for (let round = 0; round < 5; round += 1) {
      const from = rpc.lines.length;
      await rpc.ask({ type: "prompt", message: "lorem ipsum dolor ".repeat(900) });
      await rpc.wait(isEnd, from);
    }
    expect(await rpc.ask({ type: "compact" })).toMatchObject({
      success: false,
      error: { code: "rpc_compaction_failed", message: expect.stringContaining("no summary today") },
    });
    expect(await rpc.ask({ type: "prompt", message: "still there?" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("compact says that there was nothing to compact", async () => {
    const rpc = new RpcSession(agentProject(says("yes")));
    expect(await rpc.ask({ type: "compact", customInstructions: "the parser" })).toMatchObject({
      success: true,
      data: { status: "skipped", reason: "manual" },
    });
    expect(await rpc.ask({ type: "abort_compaction" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("shutdown is answered, stops the work and ends, with the input still open", async () => {
    const rpc = new RpcSession(agentProject(slow));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    expect(await rpc.ask({ type: "shutdown" })).toMatchObject({ success: true });
    expect((await rpc.ended).code).toBe(0);
    expect(rpc.lines.find(isEnd)).toMatchObject({ result: { status: "aborted" } });
  });

  test("a signal stops the work in good order, with the input still open", async () => {
    const stop = new AbortController();
    const rpc = new RpcSession(agentProject(slow), [], stop.signal);
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    stop.abort();
    expect((await rpc.ended).code).toBe(130);
    expect(rpc.lines.at(-1)).toMatchObject({ type: "session_shutdown" });
  });

  test("a message of a megabyte comes whole", async () => {
    const rpc = new RpcSession(agentProject({ ...says("yes"), contextWindow: 10_000_000 }));
    const message = "längst ".repeat(150_000);
    await rpc.ask({ type: "prompt", message });
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as {
      messages: { content: string }[];
    };
    expect(messages[0]!.content).toBe(message);
    await rpc.end();
  });
});

/** The rows of a section of RPC.md: a name and the names of its fields. */
function documented(section: string): [name: string, fields: string[]][] {
  const document = readFileSync(new URL("../RPC.md", import.meta.url), "utf8");
  const text = document.split(/^## /m).find((part) => part.startsWith(`${section}\n`))!;
  return [...text.matchAll(/^\| `(\w+)` \|(.*?)\|/gm)].map(([, name, fields]) => [
    name!,
    [...fields!.matchAll(/`(\w+)(\?)?`/g)].map((field) => `${field[1]}${field[2] ?? ""}`),
  ]);
}

function rowsOf(table: Record<string, z.ZodRawShape>): unknown[] {
  return Object.entries(table).map(([name, fields]) => [
    name,
    Object.entries(fields).map(
      ([field, schema]) => `${field}${z.safeParse(schema, undefined).success ? "?" : ""}`,
    ),
  ]);
}

test("RPC.md has every command with its fields, in order", () => {
  expect(documented("Commands")).toEqual(rowsOf(rpcCommands));
});

test("RPC.md has every question and what else extensions show, with its fields, in order", () => {
  expect(documented("Questions of extensions")).toEqual(rowsOf(uiRequests));
});
