import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { isEnd, PiRpc, type RpcLine, slow } from "./rpc-session.ts";

const entriesOf = async (rpc: PiRpc) =>
  (await rpc.data<{ entries: { id: string; type: string }[] }>("get_entries")).entries;

describe("a client of pi's drives --mode rpc", () => {
  test("state, statistics, messages, entries and tree have the fields that its types promise", async () => {
    const rpc = new PiRpc(says("yes"), ["--name", "mine"]);
    await rpc.say("hi");
    expect(await rpc.data("get_state")).toMatchObject({
      model: {
        provider: "scripted",
        cost: { input: 0, cacheWrite: 0 },
        contextWindow: 100_000,
        maxTokens: expect.any(Number),
      },
      thinkingLevel: "off",
      isStreaming: false,
      isCompacting: false,
      steeringMode: "one-at-a-time",
      followUpMode: "one-at-a-time",
      sessionName: "mine",
      autoCompactionEnabled: true,
      messageCount: 2,
      pendingMessageCount: 0,
    });
    expect(await rpc.data("get_session_stats")).toMatchObject({
      userMessages: 1,
      assistantMessages: 1,
      toolCalls: 0,
      toolResults: 0,
      totalMessages: 2,
      tokens: { input: expect.any(Number), total: expect.any(Number) },
      cost: expect.any(Number),
      contextUsage: { contextWindow: 100_000 },
    });
    expect(await rpc.data("get_messages")).toMatchObject({
      messages: [{ role: "user" }, { role: "assistant" }],
    });
    expect(await rpc.data("get_last_assistant_text")).toEqual({ text: "yes" });
    const entries = await entriesOf(rpc);
    const since = await rpc.data("get_entries", { since: entries[0]!.id });
    expect(since).toMatchObject({ entries: entries.slice(1) });
    const { tree, leafId } = await rpc.data<{ tree: TreeNode[]; leafId: string }>("get_tree");
    expect(tree).toHaveLength(1);
    const flat = (nodes: TreeNode[]): string[] =>
      nodes.flatMap(({ entry, children }) => [entry.id, ...flat(children)]);
    expect(flat(tree)).toEqual(entries.map(({ id }) => id));
    expect(leafId).toBe(entries.at(-1)!.id);
    await rpc.end();
  });

  interface TreeNode {
    entry: { id: string };
    children: TreeNode[];
  }

  test("compact returns the summary and the kept entries, and emits events", async () => {
    const rpc = new PiRpc({ ...says("yes"), summary: [] });
    for (const message of ["one ".repeat(900), "lorem ipsum dolor ".repeat(9_000)]) await rpc.say(message);
    const before = await entriesOf(rpc);
    expect(await rpc.data("compact", { customInstructions: "the ipsum" })).toMatchObject({
      summary: expect.any(String),
      firstKeptEntryId: expect.any(String),
      tokensBefore: expect.any(Number),
      estimatedTokensAfter: expect.any(Number),
    });
    expect((await entriesOf(rpc)).slice(before.length).map(({ type }) => type)).toContain("compaction");
    expect(rpc.lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["compaction_start", "compaction_end"]),
    );
    await rpc.end();
  });

  test("errors are texts, also for unknown commands and wrong fields", async () => {
    const rpc = new PiRpc(says("yes"));
    const errors: [string, object?][] = [
      ["set_model", { provider: "nobody", modelId: "x" }],
      ["compact"],
      ["fork", { entryId: "nosuch" }],
      ["get_entries", { since: "nosuch" }],
      ["switch_session", { sessionPath: "/no/such/file.jsonl" }],
      ["clone"],
      ["set_session_name", { name: "  " }],
      ["set_thinking_level", { level: "much" }],
      ["no_such_call"],
    ];
    for (const [type, fields] of errors) {
      const response = await rpc.call(type, fields);
      const error = { error: expect.any(String), code: expect.any(String) };
      expect(response, type).toMatchObject({ success: false, command: type, ...error });
    }
    await rpc.end();
  });

  test("models and thinking levels are listed, set and cycled", async () => {
    const rpc = new PiRpc(says("yes"));
    const { model } = await rpc.data<{ model: { provider: string; id: string } }>("get_state");
    const { provider, id: modelId } = model;
    expect(await rpc.data("set_model", { provider, modelId })).toMatchObject({ provider, id: modelId });
    expect(await rpc.data<{ models: unknown[] }>("get_available_models")).toMatchObject({
      models: expect.any(Array),
    });
    const { levels } = await rpc.data<{ levels: string[] }>("get_available_thinking_levels");
    expect(levels).toEqual(["off", "minimal", "low", "medium", "high", "xhigh"]);
    expect(await rpc.data("cycle_thinking_level")).toEqual({ level: "minimal" });
    expect(await rpc.data("set_thinking_level", { level: "max" })).toBeUndefined();
    expect(await rpc.data("get_state")).toMatchObject({ thinkingLevel: "xhigh" });
    await rpc.end();
  });

  test("the next model is the next favourite; a level that makes no difference to it is not offered", async () => {
    const project = agentProject(says("yes"));
    const box = { provider: "box", api: "openai-chat", baseUrl: "http://127.0.0.1:1/v1" };
    const shapes = { contextWindow: 8_000, reasoning: true, compat: { thinking: "switch" } };
    const models = [
      { id: "one", ...shapes },
      { id: "two", ...shapes },
    ];
    writeFileSync(join(project.home, "models.json"), JSON.stringify({ providers: [{ ...box, models }] }));
    const rpc = new PiRpc(project, ["--models", "box/two:high,box/one"]);
    expect(await rpc.data("cycle_model")).toMatchObject({
      model: { provider: "box", id: "two" },
      thinkingLevel: "high",
      isScoped: true,
    });
    expect(await rpc.data("get_available_thinking_levels")).toEqual({ levels: ["off", "medium"] });
    expect(await rpc.data("cycle_thinking_level")).toEqual({ level: "off" });
    expect(await rpc.data("cycle_model")).toMatchObject({ model: { id: "one" } });
    await rpc.end();
  });

  test("queued messages are listed, returned, and delivered together in mode all", async () => {
    const rpc = new PiRpc(slow);
    for (const type of ["set_steering_mode", "set_follow_up_mode"])
      expect(await rpc.data(type, { mode: "all" })).toBeUndefined();
    await rpc.data("prompt", { message: "hi" });
    await rpc.data("steer", { message: "left" });
    await rpc.data("follow_up", { message: "then this" });
    const told = await rpc.wait(
      ({ type, followUp }) => type === "queue_update" && (followUp as string[]).length > 0,
    );
    expect(told).toMatchObject({ followUp: ["then this"] });
    expect(await rpc.data("get_state")).toMatchObject({
      steeringMode: "all",
      followUpMode: "all",
      isStreaming: true,
    });
    const { steering, followUp } = await rpc.data<{ steering: string[]; followUp: string[] }>("clear_queue");
    expect(followUp).toEqual(["then this"]);
    expect(["left", undefined]).toContain(steering[0]);
    expect(await rpc.data("abort")).toBeUndefined();
    await rpc.wait(({ type }) => type === "agent_settled");
    await rpc.end();
  });

  test("the follow-up mode decides how queued messages are delivered", () =>
    everyRow([
      ["one-at-a-time", ["user", "assistant", "user", "assistant", "user", "assistant"]],
      ["all", ["user", "assistant", "user", "user", "assistant"]],
    ])(async ([mode, roles]) => {
      const rpc = new PiRpc({
        contextWindow: 100_000,
        turn: [{ text: "yes", delayMs: 200 }],
        atEnd: "repeat",
      });
      await rpc.data("set_follow_up_mode", { mode });
      await rpc.data("prompt", { message: "hi" });
      for (const message of ["one", "two"]) await rpc.data("follow_up", { message });
      await rpc.wait(({ type }) => type === "agent_settled");
      const { messages } = await rpc.data<{ messages: { role: string }[] }>("get_messages");
      expect(messages.map(({ role }) => role)).toEqual(roles);
      await rpc.end();
    }));

  test("events have pi's shapes", async () => {
    const rpc = new PiRpc(says("yes"));
    await rpc.data("get_state");
    const from = rpc.lines.length;
    await rpc.say("hi");
    const events = rpc.lines.slice(from);
    const updates = events.filter(({ type }) => type === "message_update");
    expect(updates.map(({ assistantMessageEvent }) => (assistantMessageEvent as RpcLine).type)).toEqual([
      "text_start",
      "text_delta",
      "text_end",
    ]);
    expect(updates[1]).toMatchObject({
      usage: { input: expect.any(Number) },
      assistantMessageEvent: { contentIndex: 0, delta: "yes" },
    });
    expect(updates[1]!.assistantMessageEvent).not.toHaveProperty("partial");
    expect(events.find(isEnd)).toMatchObject({ willRetry: false, messages: expect.any(Array) });
    expect(events.at(-1)).toEqual({ type: "agent_settled" });
    await rpc.end();
  });

  test("a command of its user runs, and can be stopped", async () => {
    const rpc = new PiRpc(says("yes"));
    expect(await rpc.data("bash", { command: "echo one" })).toMatchObject({
      output: expect.stringContaining("one"),
      exitCode: 0,
      cancelled: false,
      truncated: false,
    });
    expect(rpc.lines.filter(({ type }) => type === "bash_execution_update")).toEqual([
      { type: "bash_execution_update", id: "req_1", delta: "one\n" },
    ]);
    const running = rpc.call("bash", { command: "sleep 60" });
    await rpc.data("get_state");
    await rpc.data("abort_bash");
    expect(await running).toMatchObject({ data: { cancelled: true } });
    expect(await rpc.data("abort_bash")).toBeUndefined();
    await rpc.end();
  });

  test("compaction and retries can be left to the user, and a retry be given up", async () => {
    const refused = { error: { status: 500, message: "not now" } };
    const rpc = new PiRpc({ contextWindow: 100_000, turn: [refused], atEnd: "repeat" });
    await rpc.data("set_auto_compaction", { enabled: false });
    expect(await rpc.data("get_state")).toMatchObject({ autoCompactionEnabled: false });
    await rpc.data("set_auto_retry", { enabled: false });
    await rpc.say("no retry");
    expect(rpc.lines.some(({ code }) => code === "model_retry")).toBe(false);
    expect(await rpc.data("abort_retry")).toBeUndefined();
    await rpc.data("set_auto_retry", { enabled: true });
    const from = rpc.lines.length;
    await rpc.data("prompt", { message: "again" });
    await rpc.wait(({ code }) => code === "model_retry", from);
    await rpc.data("abort_retry");
    await rpc.wait(({ type }) => type === "agent_settled", from);
    await rpc.end();
  });

  test("a page of the session is written, and never over a file", async () => {
    const rpc = new PiRpc(says("<script>alert(1)</script>"));
    await rpc.say("hi");
    const outputPath = join(rpc.project.cwd, "x.html");
    expect(await rpc.data("export_html", { outputPath })).toEqual({ path: outputPath });
    const page = readFileSync(outputPath, "utf8");
    expect(page).toContain("default-src 'none'; script-src 'sha256-");
    expect(page).not.toContain("alert(1)");
    expect(await rpc.call("export_html", { outputPath })).toMatchObject({ success: false });
    const { path } = await rpc.data<{ path: string }>("export_html");
    expect(existsSync(path)).toBe(true);
    await rpc.end();
  });

  test("another session: new, forked before a message of the user, cloned, and the one before again", async () => {
    const rpc = new PiRpc(says("yes"));
    for (const message of ["one", "two"]) await rpc.say(message);
    const { sessionFile } = await rpc.data<{ sessionFile: string }>("get_state");
    const { messages } = await rpc.data<{ messages: { entryId: string; text: string }[] }>(
      "get_fork_messages",
    );
    expect(messages.map(({ text }) => text)).toEqual(["one", "two"]);
    const fork = { entryId: messages[1]!.entryId };
    expect(await rpc.data("fork", fork)).toMatchObject({ text: "two", cancelled: false });
    expect(await rpc.data("get_messages")).toMatchObject({
      messages: [{ role: "user" }, { role: "assistant" }],
    });
    expect(await rpc.data("clone")).toMatchObject({ cancelled: false });
    expect(await rpc.data("get_state")).toMatchObject({ messageCount: 2 });
    expect(await rpc.data("switch_session", { sessionPath: sessionFile })).toMatchObject({
      cancelled: false,
    });
    expect(await rpc.data("get_state")).toMatchObject({ messageCount: 4, sessionFile });
    expect(await rpc.data("new_session", { parentSession: sessionFile })).toMatchObject({ cancelled: false });
    expect(await rpc.data("get_state")).toMatchObject({ messageCount: 0 });
    expect(await rpc.data("get_commands")).toEqual({ commands: [] });
    await rpc.end();
  });
});
