import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test, vi } from "vitest";
import { AcpClient, errorOf } from "./acp-client.ts";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { slow } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

const isCall = ({ update }: acp.SessionNotification) => update.sessionUpdate === "tool_call";

describe("--mode acp", () => {
  test("answers a prompt with chunks, usage with a known cost, and the reason of its end", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
      turn: [{ thinking: "Hm.", text: "yes" }],
      title: [{ text: "A question" }],
    });
    writeFileSync(join(project.home, "settings.json"), JSON.stringify({ smallModel: project.model[1] }));
    const { client, initialized } = await AcpClient.open(project);
    expect(initialized).toMatchObject({ protocolVersion: 1, agentInfo: { name: "bonsai" } });
    const { sessionId, modes, configOptions } = await client.newSession();
    expect(modes).toMatchObject({ currentModeId: "code" });
    expect(configOptions?.map(({ id }) => id)).toEqual(["mode", "model", "thinking", "compaction"]);
    expect(await client.prompt(sessionId, "Why do the totals differ?")).toEqual({ stopReason: "end_turn" });
    expect(client.text()).toBe("yes");
    expect(client.text("agent_thought_chunk")).toBe("Hm.");
    expect(client.of("available_commands_update")[0]?.availableCommands.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["compact", "undo", "tree"]),
    );
    const { used, size, cost } = client.of("usage_update").at(-1)!;
    expect(used).toBeGreaterThan(0);
    expect({ size, cost }).toEqual({ size: 100_000, cost: { amount: expect.any(Number), currency: "USD" } });
    await client.wait(({ update }) => update.sessionUpdate === "session_info_update");
    expect(client.of("session_info_update")).toMatchObject([{ title: "A question" }]);
    expect(await client.leave()).toMatchObject({ code: 0, stderr: "" });
  });

  test("bad requests are protocol errors with a code of Bonsai, and the session continues", async () => {
    const { client } = await AcpClient.open(agentProject(says("yes")));
    const { sessionId } = await client.newSession();
    const request = (method: string, params: object) => client.agent.request(method, params as never);
    await everyRow([
      [() => client.prompt("nowhere", "hi"), -32002, "session_not_found"],
      [
        () => request("session/load", { sessionId: "../x", cwd: "/", mcpServers: [] }),
        -32002,
        "session_not_found",
      ],
      [() => request("session/new", { cwd: "relative", mcpServers: [] }), -32602, "folder_not_found"],
      [() => request("session/new", { mcpServers: [] }), -32602, "acp_request_invalid"],
      [() => request("session/prompt", { sessionId, prompt: "hi" }), -32602, "acp_request_invalid"],
      [() => request("session/fly", {}), -32601, "acp_request_invalid"],
      [() => request("session/set_mode", { sessionId, modeId: "x" }), -32602, "acp_choice_unknown"],
      [
        () => request("session/set_config_option", { sessionId, configId: "thinking", value: "x" }),
        ...([-32602, "acp_choice_unknown"] as const),
      ],
      [
        () =>
          request("session/prompt", {
            sessionId,
            prompt: [{ type: "audio", data: "", mimeType: "audio/wav" }],
          }),
        ...([-32602, "acp_content_unsupported"] as const),
      ],
      [() => client.prompt(sessionId, " "), -32602, "acp_content_unsupported"],
      [() => request("session/prompt", { sessionId, prompt: [] }), -32602, "acp_content_unsupported"],
    ] as const)(async ([send, code, own]) => {
      expect(await errorOf(send())).toMatchObject({ code, data: { code: own } });
    });
    expect(await client.prompt(sessionId, "hi")).toEqual({ stopReason: "end_turn" });
    await client.leave();
  });

  test("each answer has its own message id", async () => {
    const { client } = await AcpClient.open(agentProject(says("yes")));
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "hi");
    await client.prompt(sessionId, "hi");
    const ids = client.of("agent_message_chunk").map(({ messageId }) => messageId);
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain("");
    await client.leave();
  });

  test("lines that are no messages are answered, and later ones are served", async () => {
    const { client } = await AcpClient.open(agentProject(says("yes")));
    // The client's SDK reports answers without an id.
    vi.spyOn(console, "error").mockImplementation(() => {});
    client.sendText("not json\n\n[1]\n42\n");
    const { sessionId } = await client.newSession();
    expect(await client.prompt(sessionId, "hi")).toEqual({ stopReason: "end_turn" });
    const errors = jsonLines(client.lines.join("")).filter(({ error }) => error !== undefined);
    expect(errors).toMatchObject([
      { id: null, error: { code: -32700, data: { code: "acp_request_invalid" } } },
      { id: null, error: { code: -32600, data: { code: "acp_request_invalid" } } },
      { id: null, error: { code: -32600, data: { code: "acp_request_invalid" } } },
    ]);
    await client.leave();
  });

  test("a second prompt is refused, and a cancel ends the first", async () => {
    const { client } = await AcpClient.open(agentProject(slow));
    const { sessionId } = await client.newSession();
    await client.agent.notify("session/cancel", { sessionId });
    const running = client.prompt(sessionId, "hi");
    expect(await errorOf(client.prompt(sessionId, "me too"))).toMatchObject({ data: { code: "acp_busy" } });
    await client.wait(isCall);
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    await client.leave();
  });

  test("a cancel right after the prompt stops it before its first request", async () => {
    const { client } = await AcpClient.open(agentProject(slow));
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "hi");
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    expect(client.of("tool_call")).toEqual([]);
    await client.leave();
  });

  test("a client that leaves in the middle of a prompt keeps its session, and the command ends", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "bash", arguments: { command: "echo $$ > pid; sleep 100" } }] }],
    });
    const { client } = await AcpClient.open(project);
    const { sessionId } = await client.newSession();
    client.prompt(sessionId, "wait").catch(() => {});
    await client.wait(isCall);
    await expect.poll(() => readFileSync(join(project.cwd, "pid"), "utf8")).toMatch(/\d/);
    expect((await client.leave()).code).toBe(0);
    const pid = Number(readFileSync(join(project.cwd, "pid"), "utf8"));
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    const { client: later } = await AcpClient.open(project);
    await later.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(later.text("user_message_chunk")).toBe("wait");
    expect(later.of("tool_call_update")).toMatchObject([{ status: "failed" }]);
    await later.leave();
  });

  test("a client that leaves while a session opens ends the program", async () => {
    const { client } = await AcpClient.open(agentProject(says("yes")));
    client.newSession().catch(() => {});
    expect(await client.leave()).toMatchObject({ code: 0, stderr: "" });
  });

  test("sessions have their own folders, and the failure of one leaves the other working", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [
        { when: { lastUserMatches: "^break$" }, error: { status: 400, message: "Out of order." } },
        { when: { lastUserMatches: "^list$" }, calls: [{ name: "ls" }] },
        { text: "Listed." },
      ],
    });
    const other = agentProject(says(""), { "other.txt": "" });
    const { client } = await AcpClient.open(project);
    const [first, second] = await Promise.all([client.newSession(), client.newSession(other.cwd)]);
    const broken = errorOf(client.prompt(first.sessionId, "break"));
    expect(await client.prompt(second.sessionId, "list")).toEqual({ stopReason: "end_turn" });
    expect(await broken).toMatchObject({ code: -32603, message: expect.stringContaining("Out of order.") });
    const listed = client.updates.filter(({ update }) => update.sessionUpdate === "tool_call_update");
    expect(listed).toMatchObject([{ sessionId: second.sessionId }]);
    expect(JSON.stringify(listed)).toContain("other.txt");
    await client.agent.request("session/close", { sessionId: second.sessionId });
    expect(await errorOf(client.prompt(second.sessionId, "hi"))).toMatchObject({ code: -32002 });
    await client.leave();
  });

  test("a damaged session opens with a notice", async () => {
    const project = agentProject(says("yes"));
    const { client } = await AcpClient.open(project, { capabilities: { session: { notices: {} } } });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "hi");
    await client.agent.request("session/close", { sessionId });
    const file = (await import("@bonsai-agent/session")).findSession({
      session: sessionId,
      home: project.home,
    });
    const lines = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, [...lines.slice(0, 2), '{"type":"mess', ...lines.slice(2)].join("\n"));
    await client.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(client.text("user_message_chunk")).toBe("hi");
    expect(client.of("notice")).toMatchObject([
      { severity: "warning", title: expect.stringContaining("damaged") },
    ]);
    writeFileSync(file, "not a session\n");
    const request = client.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(await errorOf(request)).toMatchObject({ data: { code: expect.any(String) } });
    await client.leave();
  });

  test("without a key, a new session asks for a login", async () => {
    const project = agentProject(says(""));
    const run: typeof project.run = (argv, options) =>
      runCli(argv, { cwd: project.cwd, ...options, env: project.env });
    const capabilities = { auth: { terminal: true } };
    const { client, initialized } = await AcpClient.open({ ...project, run }, { capabilities });
    expect(initialized.authMethods?.map(({ id }) => id)).toEqual(["login", "terminal"]);
    const login = {
      ...{ code: -32000, message: expect.stringContaining("bonsai login"), data: { code: "no_model" } },
    };
    expect(await errorOf(client.newSession())).toMatchObject(login);
    expect(await errorOf(client.agent.request("authenticate", { methodId: "login" }))).toMatchObject(login);
    await client.leave();
  });

  test("choices change the session and are announced", async () => {
    const { client } = await AcpClient.open(agentProject(says("yes")));
    const { sessionId } = await client.newSession();
    const choose = (configId: string, value: string) =>
      client.agent.request("session/set_config_option", { sessionId, configId, value });
    const { configOptions } = await choose("compaction", "pi");
    expect(configOptions.find(({ id }) => id === "compaction")).toMatchObject({ currentValue: "pi" });
    await choose("mode", "read");
    await choose("thinking", "high");
    await client.agent.request("session/set_mode", { sessionId, modeId: "code" });
    await client.prompt(sessionId, "hi");
    expect(client.of("current_mode_update").map(({ currentModeId }) => currentModeId)).toEqual([
      "read",
      "code",
    ]);
    const latest = client.of("config_option_update").at(-1)?.configOptions;
    expect(latest?.map((option) => ("currentValue" in option ? option.currentValue : ""))).toEqual([
      ...["code", expect.stringContaining("scripted/"), "high", "pi"],
    ]);
    await client.leave();
  });
});
