import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { isEnd, isUpdate, RpcSession, slow } from "./rpc-session.ts";

describe("--mode rpc", () => {
  test("a prompt is answered when it is stored, and its events follow to its end", async () => {
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

  test("a command that cannot be carried out is answered, and the session continues", () =>
    everyRow([
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
    ])(async ([line, command, code]) => {
      const rpc = new RpcSession(agentProject(says("")));
      rpc.sendText(`${line}\n`);
      const response = await rpc.wait(({ type }) => type === "response");
      expect(response).toMatchObject({ command, success: false, code });
      expect(response.error).toEqual(expect.any(String));
      expect(await rpc.ask({ type: "get_state" })).toMatchObject({ success: true });
      expect((await rpc.end()).code).toBe(0);
    }));

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
      code: "agent_busy",
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

  test("fast commands run in their order", async () => {
    const project = agentProject(says("ok"));
    const other = join(project.home, "other.json");
    writeFileSync(other, JSON.stringify(says("other")));
    const rpc = new RpcSession(project);
    rpc.send({ type: "set_model", provider: "scripted", modelId: other });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ data: { model: { id: other } } });
    await rpc.end();
  });

  test("a command sent directly after an abort finds the agent idle", async () => {
    const rpc = new RpcSession(agentProject(slow));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isUpdate);
    rpc.send({ type: "abort" });
    expect(await rpc.ask({ type: "new_session" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("a client that has read agent_end can go on at once", async () => {
    const rpc = new RpcSession(agentProject(says("yes")));
    for (let round = 0; round < 5; round += 1) {
      const from = rpc.lines.length;
      expect(await rpc.ask({ type: "prompt", message: "hi" })).toMatchObject({ success: true });
      await rpc.wait(isEnd, from);
      if (round % 2 === 1) expect(await rpc.ask({ type: "new_session" })).toMatchObject({ success: true });
    }
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
