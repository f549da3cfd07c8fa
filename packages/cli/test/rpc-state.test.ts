import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { isEnd, RpcSession } from "./rpc-session.ts";

describe("--mode rpc: the session", () => {
  test("state, messages, entries, tree and stats describe the same session", async () => {
    const rpc = new RpcSession(agentProject(says("yes")), ["--name", "mine"]);
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isEnd);
    const data = async (type: string) => (await rpc.ask({ type })).data as Record<string, unknown>;
    const state = await data("get_state");
    expect(state).toMatchObject({
      sessionName: "mine",
      isStreaming: false,
      thinkingLevel: "off",
      model: { provider: "scripted" },
    });
    expect(state.model).not.toHaveProperty("headers");
    const { messages } = await data("get_messages");
    expect((messages as { role: string }[]).map(({ role }) => role)).toEqual(["user", "assistant"]);
    const { entries, leafId } = await data("get_entries");
    expect((entries as { id: string }[]).some(({ id }) => id === leafId)).toBe(true);
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
      code: "provider_unknown",
    });
    await rpc.ask({ type: "set_thinking_level", level: "high" });
    await rpc.ask({ type: "set_session_name", name: " new name " });
    expect(await rpc.ask({ type: "set_session_name", name: "  " })).toMatchObject({ success: false });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({
      data: { thinkingLevel: "high", sessionName: "new name" },
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
    const { messages: said } = (await rpc.ask({ type: "get_fork_messages" })).data as {
      messages: { entryId: string; text: string }[];
    };
    const two = said.find(({ text }) => text === "two")!.entryId.slice(0, 6);
    expect(await rpc.ask({ type: "navigate_tree", targetId: two, label: "again" })).toMatchObject({
      data: { status: "moved", editorText: "two" },
    });
    const { entries } = (await rpc.ask({ type: "get_entries" })).data as { entries: unknown[] };
    expect(entries.at(-1)).toMatchObject({
      type: "label",
      targetId: expect.stringMatching(`^${two}`),
      label: "again",
    });
    expect(await rpc.ask({ type: "navigate_tree", targetId: "nosuch" })).toMatchObject({
      success: false,
      code: "entry_not_found",
    });
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: unknown[] };
    expect(messages).toHaveLength(2);
    await rpc.end();
  });

  test("merge summarises another branch once", async () => {
    const rpc = new RpcSession(agentProject({ ...says("yes"), summary: [] }));
    const said = async (message: string) => {
      const from = rpc.lines.length;
      await rpc.ask({ type: "prompt", message });
      await rpc.wait(isEnd, from);
      const { leafId } = (await rpc.ask({ type: "get_entries" })).data as { leafId: string };
      return leafId;
    };
    const first = await said("one");
    const branchId = await said("two");
    await rpc.ask({ type: "navigate_tree", targetId: first });
    const previousLeafId = await said("three");
    const merge = { type: "merge", branchId, useDigest: true };
    const merged = await rpc.ask(merge);
    expect(merged).toMatchObject({ data: { status: "merged", previousLeafId, branchId } });
    const { summaryEntryId, entryIds } = merged.data as { summaryEntryId: string; entryIds: string[] };
    expect(entryIds).toHaveLength(2);
    expect(await rpc.ask(merge)).toMatchObject({ data: { status: "unchanged", mergedById: summaryEntryId } });
    expect(await rpc.ask({ type: "merge", branchId: first })).toMatchObject({
      success: false,
      code: "merge_own_path",
    });
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
    expect(response).toMatchObject({ success: false, code: "session_read_only" });
    const notice = await rpc.wait(({ code }) => code === "read_only");
    expect(notice).toMatchObject({ type: "notice", message: expect.stringContaining(file) });
    const unsent = await rpc.wait(({ type }) => type === "unsent");
    expect(unsent).toMatchObject({ inputs: [{ message: "hi" }] });
    expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
  });

  test("bash adds its output to the context unless it is excluded", async () => {
    const rpc = new RpcSession(agentProject(says("yes")));
    expect(await rpc.ask({ type: "bash", command: "echo one" })).toMatchObject({
      success: true,
      data: { output: expect.stringContaining("one"), exitCode: 0 },
    });
    expect(rpc.lines.filter(({ type }) => type === "bash_execution_update")).toEqual([
      { type: "bash_execution_update", id: "bash-1", delta: "one\n" },
    ]);
    await rpc.ask({ type: "bash", command: "echo two", excludeFromContext: true });
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: object[] };
    expect(JSON.stringify(messages)).toContain("echo one");
    expect(JSON.stringify(messages)).not.toContain("echo two");
    await rpc.end();
  });

  test("a failed compact is an error, and a digest can be made, undone and redone", async () => {
    const refuses = { error: { status: 400, message: "no summary today" } };
    const play = { ...says("yes"), contextWindow: 20_000, maxOutputTokens: 2_000, summary: [refuses] };
    const project = agentProject(play);
    const settings = { compaction: { summarizer: { fallback: "never" } } };
    writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings));
    const rpc = new RpcSession(project);
    for (let round = 0; round < 5; round += 1) {
      const from = rpc.lines.length;
      await rpc.ask({ type: "prompt", message: "lorem ipsum dolor ".repeat(900) });
      await rpc.wait(isEnd, from);
    }
    expect(await rpc.ask({ type: "compact" })).toMatchObject({
      success: false,
      code: "rpc_compaction_failed",
      error: expect.stringContaining("no summary today"),
    });
    expect(await rpc.ask({ type: "compact", useDigest: true })).toMatchObject({
      success: true,
      data: { status: "compacted" },
    });
    const messages = async () =>
      ((await rpc.ask({ type: "get_messages" })).data as { messages: object[] }).messages.length;
    const compacted = await messages();
    const undone = await rpc.ask({ type: "undo" });
    expect(await messages()).toBeGreaterThan(compacted);
    expect(await rpc.ask({ type: "undo" })).toMatchObject({ success: false, code: "nothing_to_undo" });
    const redone = await rpc.ask({ type: "redo" });
    expect(await messages()).toBe(compacted);
    const events = rpc.lines.filter(({ type }) => type === "session_compact_undo") as {
      isUndone: boolean;
      entry: { id: string };
    }[];
    expect(events.map(({ isUndone, entry }) => [isUndone, entry.id])).toEqual(
      [undone, redone].map(({ data }, index) => [index === 0, (data as { entryId: string }).entryId]),
    );
    expect(await rpc.ask({ type: "prompt", message: "still there?" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("a compact without anything to compact is an error", async () => {
    const rpc = new RpcSession(agentProject(says("yes")));
    expect(await rpc.ask({ type: "compact", customInstructions: "the parser" })).toMatchObject({
      success: false,
      code: "rpc_compaction_failed",
    });
    expect(await rpc.ask({ type: "abort_compaction" })).toMatchObject({ success: true });
    await rpc.end();
  });
});
