import { Agent, lifecycleEventRules } from "@bonsai-agent/agent";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventJson } from "../src/call/event-json.ts";
import { agentProject, jsonLines, says } from "./agent-project.ts";

const reads = {
  contextWindow: 100_000,
  turn: [
    { text: "Look:", calls: [{ name: "ls", arguments: {} }] },
    { text: "Two words", chunkChars: 4 },
  ],
};

describe("--mode json", () => {
  test("the session's header, each event, and at last agent_end with the result", async () => {
    const { code, stdout, stderr } = await agentProject(reads).run(["--mode", "json", "hi"]);
    const lines = jsonLines(stdout);
    expect([code, stderr]).toEqual([0, ""]);
    expect(lines[0]).toMatchObject({ type: "session", version: 3 });
    expect(lines.at(-1)).toMatchObject({
      type: "agent_end",
      result: { status: "done", answer: { content: [{ type: "text", text: "Two words" }] } },
    });
    const types = lines.map(({ type }) => type);
    for (const type of [
      "session_start",
      "agent_start",
      "turn_start",
      "tool_execution_end",
      "session_shutdown",
    ])
      expect(types).toContain(type);
    for (const type of types.slice(1)) expect(Object.keys(lifecycleEventRules)).toContain(type);
  });

  test("an update contains the new text, not the message", async () => {
    const { stdout } = await agentProject(reads).run(["--json", "hi"]);
    const updates = jsonLines(stdout).filter(({ type }) => type === "message_update");
    const deltas = updates.map(({ update }) => update as { type: string; delta?: string; message?: unknown });
    expect(deltas.every(({ message }) => message === undefined)).toBe(true);
    for (const update of updates) expect(Object.keys(update)).toEqual(["type", "update"]);
    const spoken = deltas.filter(({ type }) => type === "text").map(({ delta }) => delta);
    expect(spoken.join("")).toBe("Look:Two words");
  });

  test("a failure is the result of agent_end, an error on stderr, and exit code 1", async () => {
    const refusing = { contextWindow: 100_000, turn: [{ error: { status: 401, message: "no such key" } }] };
    const { code, stdout, stderr } = await agentProject(refusing).run(["--mode", "json", "hi"]);
    expect(code).toBe(1);
    const { error } = JSON.parse(stderr);
    expect(Object.keys(error)).toEqual(["code", "message", "hint"]);
    expect(jsonLines(stdout).at(-1)).toMatchObject({
      type: "agent_end",
      result: { status: "failed", error },
    });
  });

  test("the last line comes after an interrupt before the prompt, too", async () => {
    const { code, stdout } = await agentProject(says("never")).run(["--json", "hi"], {
      signal: AbortSignal.abort(),
    });
    expect(code).toBe(130);
    const lines = jsonLines(stdout);
    expect(lines[0]).toMatchObject({ type: "session" });
    expect(lines.at(-1)).toEqual({ type: "agent_end", messages: [], result: { status: "aborted" } });
  });

  test("a run that breaks off without a result ends in run_failed", async () => {
    const { run } = agentProject(says("never"));
    const breaks = new Error("broken off");
    const lost = vi.spyOn(Agent.prototype, "prompt").mockRejectedValue(breaks);
    onTestFinished(() => lost.mockRestore());
    const { code, stdout, stderr } = await run(["--json", "hi"]);
    expect(code).toBe(1);
    const { error } = JSON.parse(stderr);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "run_failed", error: { message: error.message } });
  });

  test("a wrong flag is an error in JSON", async () => {
    const { code, stdout, stderr } = await agentProject(says("")).run(["--mode", "json", "hi", "--nope"]);
    expect([code, stdout, JSON.parse(stderr).error.code]).toEqual([2, "", "wrong_usage"]);
  });

  test("a model's address and headers are not printed", () => {
    const model = { provider: "p", id: "m", baseUrl: "http://user:secret@x", headers: { a: "secret" } };
    const line = eventJson("model_select", {
      type: "model_select",
      model,
      previousModel: model,
      source: "set",
    });
    expect(JSON.stringify(line)).not.toContain("secret");
  });

  test("no event has a signal or an error object in it", () => {
    const { signal } = new AbortController();
    const asked = eventJson("session_before_mask", { type: "session_before_mask", signal, freedTokens: 1 });
    expect(asked).toEqual({ type: "session_before_mask", freedTokens: 1 });
    const compacting = {
      reason: "manual",
      preparation: { messagesToSummarize: [], turnPrefixMessages: [] },
      get branchEntries(): never {
        throw new Error("The path is read only for who asks for it.");
      },
    };
    expect(eventJson("session_before_compact", compacting)).toMatchObject({ messageCount: 0 });
    const failed = eventJson("session_compact_failed", { reason: "manual", error: new TypeError("x") });
    expect(failed.error).toMatchObject({ code: "unexpected_error" });
  });
});
