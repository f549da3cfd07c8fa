import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { AcpClient, errorOf } from "./acp-client.ts";
import { agentProject, says } from "./agent-project.ts";
import { modelSummary } from "./call/model-summary.ts";
import { longSession } from "./call/sample-session.ts";

const everything = { session: { compaction: {}, notices: {} } };

const scenario = {
  contextWindow: 100_000,
  turn: [{ text: "Well." }],
  summary: [{ text: modelSummary() }],
  title: [{ text: "Orders" }],
  atEnd: "repeat" as const,
};

/** A project whose list has a long session of its folder. */
function longProject(settings: object = {}) {
  const project = agentProject(scenario);
  const sessions = join(project.home, "own-sessions");
  mkdirSync(sessions);
  const file = join(sessions, "long.jsonl");
  copyFileSync(longSession(), file);
  const lines = readFileSync(file, "utf8").split("\n");
  const header = { ...(JSON.parse(lines[0]!) as { id: string }), cwd: project.cwd };
  writeFileSync(file, [JSON.stringify(header), ...lines.slice(1)].join("\n"));
  const compaction = { mask: { enabled: false }, ...settings };
  writeFileSync(join(project.home, "settings.json"), JSON.stringify({ compaction }));
  return { project, file, sessionId: header.id, argv: ["--session-dir", sessions] };
}

describe("a long session in an editor", () => {
  test("is listed, loaded, compacted at the threshold, undone, and loaded again from disk", async () => {
    const { project, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv, capabilities: everything });
    const { sessions } = await client.agent.request("session/list", { cwd: project.cwd });
    expect(sessions).toMatchObject([{ sessionId, cwd: project.cwd, updatedAt: expect.any(String) }]);
    await client.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(client.text("user_message_chunk")).not.toBe("");
    const calls = client.of("tool_call").map(({ toolCallId }) => toolCallId);
    const ended = new Set(client.of("tool_call_update").map(({ toolCallId }) => toolCallId));
    expect(calls.length).toBeGreaterThan(10);
    expect(calls.filter((id) => !ended.has(id))).toEqual([]);
    expect(client.of("compaction_update")).toEqual([]);

    const from = client.updates.length;
    expect(await client.prompt(sessionId, "go on")).toEqual({ stopReason: "end_turn" });
    const [begun, done, ...more] = client.of("compaction_update", from);
    expect(more).toEqual([]);
    expect(begun).toMatchObject({ status: "in_progress" });
    expect(done).toMatchObject({ compactionId: begun?.compactionId, status: "completed" });
    const [headline, summary] = (done?.summary ?? []) as { text: string }[];
    expect(headline?.text).toMatch(/^Compacted: .* → ~.* tokens, with a summary; 1 request/);
    expect(summary?.text).toContain("Goal");
    const [small] = client.of("usage_update", from).slice(-1);
    expect(small).toEqual({ sessionUpdate: "usage_update", used: small?.used, size: 100_000 });

    await client.prompt(sessionId, "/undo");
    expect(client.text("agent_message_chunk", from)).toMatch(/Undid the compaction of .* Context: .* → /);
    const [large] = client.of("usage_update", from).slice(-1);
    expect(large!.used).toBeGreaterThan(small!.used);
    expect((await client.leave()).code).toBe(0);

    const { client: later } = await AcpClient.open(project, { argv, capabilities: everything });
    await later.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(later.text("user_message_chunk").endsWith("go on")).toBe(true);
    expect(later.of("compaction_update")).toEqual([]);
    await later.prompt(sessionId, "/redo");
    await later.leave();

    const { client: last } = await AcpClient.open(project, { argv, capabilities: everything });
    await last.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    expect(last.of("compaction_update")).toMatchObject([{ status: "completed" }]);
    await last.leave();
  });

  test("a resumed session sends no earlier message", async () => {
    const { project, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    await client.wait(({ update }) => update.sessionUpdate === "available_commands_update");
    expect(client.text("user_message_chunk")).toBe("");
    await client.leave();
  });

  test("loaded calls with one id of the provider have different ids, and one without a result has failed", async () => {
    const { project, sessionId, file, argv } = longProject();
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
    const call = {
      ...{ role: "assistant", api: "scripted", provider: "p", model: "m", stopReason: "toolUse", usage },
      content: [{ type: "toolCall", id: "same", name: "bash", arguments: { command: "make" } }],
    };
    const result = { role: "toolResult", toolCallId: "same", toolName: "bash", content: [], isError: false };
    const entries = [call, result, call].map((message, at) => ({
      ...{ type: "message", id: `entry-${at}`, parentId: at === 0 ? null : `entry-${at - 1}` },
      ...{ timestamp: "2026-11-20T09:00:00.000Z", message: { ...message, timestamp: 1 } },
    }));
    const [header] = readFileSync(file, "utf8").split("\n", 1);
    writeFileSync(file, [header, ...entries.map((entry) => JSON.stringify(entry)), ""].join("\n"));
    const { client } = await AcpClient.open(project, { argv });
    await client.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    const ids = client.of("tool_call").map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(2);
    expect(client.of("tool_call_update")).toMatchObject([
      { toolCallId: ids[0], status: "completed" },
      { toolCallId: ids[1], status: "failed" },
    ]);
    await client.leave();
  });

  test("a client without the capability gets one notice for a compaction", () =>
    everyRow([
      [{ session: { notices: {} } }, "notice"],
      [{}, "agent_message_chunk"],
    ] as const)(async ([capabilities, kind]) => {
      const { project, sessionId, argv } = longProject();
      const { client } = await AcpClient.open(project, { argv, capabilities });
      await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
      await client.prompt(sessionId, "go on");
      const shown = client.of(kind).filter((update) => JSON.stringify(update).includes("Compacted: "));
      expect(shown).toHaveLength(1);
      expect(client.of("compaction_update")).toEqual([]);
      await client.leave();
    }));

  test("a compaction in the background is one update from its beginning to its end", async () => {
    const { project, sessionId, argv } = longProject();
    // The session is near the threshold of this window, not above it.
    const near = { ...scenario, contextWindow: 140_000 };
    writeFileSync(project.model[1].replace("scripted/", ""), JSON.stringify(near));
    const { client } = await AcpClient.open(project, { argv, capabilities: everything });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    const growing = `go on ${"and on ".repeat(3_000)}`;
    await client.prompt(sessionId, growing);
    expect(client.of("compaction_update")).toMatchObject([{ status: "in_progress" }]);
    for (let round = 0; round < 9 && client.of("compaction_update").length < 2; round += 1)
      await client.prompt(sessionId, growing);
    const [begun, done, ...more] = client.of("compaction_update");
    expect(done).toMatchObject({ compactionId: begun?.compactionId, status: "completed" });
    expect(more).toEqual([]);
    await client.leave();
  });

  test("compaction.confirm asks with the preview, and a refusal changes nothing", async () => {
    const { project, file, sessionId, argv } = longProject({ confirm: "manual" });
    const before = readFileSync(file, "utf8");
    const { client } = await AcpClient.open(project, {
      argv,
      capabilities: everything,
      permit: ({ options }) => options.find(({ name }) => name === "Cancel")?.optionId,
    });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    await client.prompt(sessionId, "/compact the orders");
    const [{ toolCall, options }] = client.permissions as [(typeof client.permissions)[0]];
    expect(options.map(({ name }) => name)).toEqual([
      ...["Write the summary", "Use the digest", "Keep more", "Keep less"],
      ...["Keep one more turn", "Keep one turn less", "Cancel"],
    ]);
    expect(JSON.stringify(toolCall.content)).toMatch(/Plan .* → ~.* tokens/);
    expect(client.of("compaction_update")).toMatchObject([
      { status: "in_progress" },
      { status: "cancelled" },
    ]);
    expect(readFileSync(file, "utf8")).toBe(before);
    await client.leave();
  });

  test("a failed compaction says why", async () => {
    const { project, sessionId, argv } = longProject({ summarizer: { fallback: "never" } });
    writeFileSync(
      project.model[1].replace("scripted/", ""),
      JSON.stringify({ ...scenario, summary: [{ text: "I refuse." }] }),
    );
    const { client } = await AcpClient.open(project, { argv, capabilities: everything });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    await client.prompt(sessionId, "/compact");
    const failed = client.of("compaction_update").at(-1);
    expect(failed).toMatchObject({ status: "failed", error: expect.stringMatching(/summary/i) });
    await client.leave();
  });

  test("commands show the plan, the context, hidden entries and the tree, and move in it", async () => {
    const { project, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv, capabilities: everything });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    const answerTo = async (text: string) => {
      const from = client.updates.length;
      await client.prompt(sessionId, text);
      return client.text("agent_message_chunk", from);
    };
    expect(await answerTo("/compact preview")).toContain("Dry run: nothing was saved.");
    expect(await answerTo("/context")).toMatch(/Context: .* of 100,000 tokens/);
    await answerTo("/compact digest");
    expect(await answerTo("/recall order")).toMatch(/^- [0-9a-f]{8} /m);
    const tree = await answerTo("/tree");
    const ids = [...tree.matchAll(/^([0-9a-f]{8}) /gm)].map(([, id]) => id!);
    expect(ids.length).toBeGreaterThan(3);
    expect(await answerTo(`/tree ${ids[1]} no`)).toMatch(/^Moved/);
    expect(await answerTo("/tree")).toContain("◀ here");
    const error = await errorOf(client.prompt(sessionId, "/tree zz"));
    expect(error).toMatchObject({ code: -32602, data: { code: "entry_not_found" } });
    expect(await answerTo(`/merge ${ids.at(-1)}`)).not.toBe("");
    await client.leave();
  });

  test("/tree with summary moves and keeps a summary of the left branch", async () => {
    const { project, file, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv, capabilities: everything });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    await client.prompt(sessionId, "/tree --all");
    const [, id] = [...client.text().matchAll(/^([0-9a-f]{8}) /gm)].map(([, each]) => each!);
    expect(readFileSync(file, "utf8")).not.toContain('"type":"branch_summary"');
    const from = client.updates.length;
    await client.prompt(sessionId, `/tree ${id} summary`);
    expect(client.text("agent_message_chunk", from)).toMatch(/^Moved/);
    expect(readFileSync(file, "utf8")).toContain('"type":"branch_summary"');
    await client.leave();
  });

  test("an overflow is one compaction, and the prompt is answered after it", async () => {
    const { project, sessionId, argv } = longProject();
    const overflow = { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" };
    const turn = [{ error: overflow }, { text: "Well." }];
    writeFileSync(
      project.model[1].replace("scripted/", ""),
      JSON.stringify({ ...scenario, contextWindow: 1_000_000, turn }),
    );
    const { client } = await AcpClient.open(project, { argv, capabilities: everything });
    await client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    expect(await client.prompt(sessionId, "go on")).toEqual({ stopReason: "end_turn" });
    expect(client.of("compaction_update")).toMatchObject([
      { status: "in_progress" },
      { status: "completed", summary: [{ text: expect.stringContaining("Compacted: ") }, {}] },
    ]);
    expect(client.text()).toContain("Well.");
    await client.leave();
  });

  test("a session that is deleted during a prompt cancels the prompt, and cannot be opened again", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "bash", arguments: { command: "sleep 100" } }] }],
    });
    const { client } = await AcpClient.open(project);
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "wait");
    await client.wait(({ update }) => update.sessionUpdate === "tool_call");
    await client.agent.request("session/delete", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    const resumed = client.agent.request("session/resume", { sessionId, cwd: project.cwd });
    expect(await errorOf(resumed)).toMatchObject({ code: -32002, data: { code: "session_not_found" } });
    expect((await client.agent.request("session/list", {})).sessions).toEqual([]);
    await client.leave();
  });

  test("a session that cannot be loaded again stays open", async () => {
    const { project, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv });
    const opening = { sessionId, cwd: project.cwd, mcpServers: [] };
    await client.agent.request("session/resume", opening);
    const refusal = client.agent.request("session/load", { ...opening, cwd: join(project.cwd, "missing") });
    expect((await errorOf(refusal)).data).toMatchObject({ code: "folder_not_found" });
    expect(await client.prompt(sessionId, "go on")).toEqual({ stopReason: "end_turn" });
    await client.leave();
  });

  test("two loads of one session at once leave one open session", async () => {
    const { project, file, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv });
    const opening = { sessionId, cwd: project.cwd, mcpServers: [] };
    const load = () => client.agent.request("session/load", opening);
    await Promise.all([load(), load()]);
    const from = client.updates.length;
    expect(await client.prompt(sessionId, "go on")).toEqual({ stopReason: "end_turn" });
    expect(client.text("agent_message_chunk", from)).toContain("Well.");
    expect(readFileSync(file, "utf8").match(/"go on"/g)).toHaveLength(1);
    await client.agent.request("session/close", { sessionId });
    expect((await errorOf(client.prompt(sessionId, "go on"))).data).toMatchObject({
      code: "session_not_found",
    });
    expect(await client.leave()).toMatchObject({ code: 0, stderr: "" });
  });

  test("a session that is deleted while it is loaded is closed", async () => {
    const { project, file, sessionId, argv } = longProject();
    const { client } = await AcpClient.open(project, { argv });
    const loaded = client.agent.request("session/load", { sessionId, cwd: project.cwd, mcpServers: [] });
    await Promise.all([loaded, client.agent.request("session/delete", { sessionId })]);
    expect(existsSync(file)).toBe(false);
    expect((await errorOf(client.prompt(sessionId, "go on"))).data).toMatchObject({
      code: "session_not_found",
    });
    await client.leave();
  });

  test("a deleted session goes to the trash folder", async () => {
    const project = agentProject(says("yes"));
    const { client } = await AcpClient.open(project);
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "hi");
    await client.agent.request("session/delete", { sessionId });
    expect((await client.agent.request("session/list", {})).sessions).toEqual([]);
    const trash = readdirSync(join(project.home, "trash"), { recursive: true });
    expect(trash).toContainEqual(expect.stringMatching(`${sessionId}.jsonl$`));
    expect(await errorOf(client.prompt(sessionId, "hi"))).toMatchObject({
      data: { code: "session_not_found" },
    });
    await client.leave();
    expect(existsSync(join(project.home, "trash"))).toBe(true);
  });
});
