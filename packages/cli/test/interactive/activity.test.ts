import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { AssistantMessage } from "@bonsai-agent/messages";
import type { StreamEvent } from "@bonsai-agent/models";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { ActivityModel, followActivity } from "../../src/interactive/status/activity-model.ts";

const answer = {
  role: "assistant",
  content: [{ type: "toolCall", id: "1", name: "edit", arguments: {} }],
} as unknown as AssistantMessage;
const grows = (type: "start" | "thinking" | "text" | "tool_call") =>
  ({ type, contentIndex: 0, delta: "x", message: answer }) as StreamEvent;

describe("the activity", () => {
  test("is nothing at first, and nothing after the end", () => {
    const model = new ActivityModel();
    expect(model.doing(0)).toBeUndefined();
    model.runBegan(1);
    model.toolBegan({ id: "1", name: "bash", args: { command: "npm test" }, nowMs: 2 });
    model.compactionBegan("threshold", 3);
    model.ended();
    expect(model.doing(4)).toBeUndefined();
  });

  test("names the phase of the answer and its start", () => {
    const model = new ActivityModel();
    model.runBegan(0);
    expect(model.doing(0)?.text).toBe("Working…");
    model.answerBegan(1);
    expect(model.doing(1)).toEqual({ text: "Waiting for the model…", sinceMs: 1, stopKey: "Esc" });
    expect(model.answerGrew(grows("thinking"), 2)).toBe(true);
    expect(model.answerGrew(grows("thinking"), 3)).toBe(false);
    expect(model.doing(3)).toEqual({ text: "Thinking…", sinceMs: 2, stopKey: "Esc" });
    model.answerGrew(grows("text"), 4);
    expect(model.doing(4)).toEqual({ text: "Answering…", sinceMs: 4, stopKey: "Esc" });
    model.answerGrew(grows("tool_call"), 5);
    expect(model.doing(5)?.text).toBe("Preparing edit…");
    model.answerEnded();
    expect(model.doing(6)).toEqual({ text: "Working…", sinceMs: 0, stopKey: "Esc" });
  });

  test("names the running tool, or counts several", () => {
    const model = new ActivityModel();
    model.toolBegan({ id: "1", name: "bash", args: { command: "npm test" }, nowMs: 1 });
    expect(model.doing(2)).toEqual({ text: "Running bash: npm test", sinceMs: 1, stopKey: "Esc" });
    model.toolBegan({ id: "2", name: "read", args: { path: "a.ts" }, nowMs: 2 });
    expect(model.doing(3)).toEqual({
      text: "Running 2 tools: bash: npm test · read: a.ts",
      sinceMs: 1,
      stopKey: "Esc",
    });
    model.toolEnded("1");
    expect(model.doing(4)).toEqual({ text: "Running read: a.ts", sinceMs: 2, stopKey: "Esc" });
    model.toolBegan({ id: "3", name: "clock", args: {}, nowMs: 5 });
    model.toolEnded("2");
    expect(model.doing(6)?.text).toBe("Running clock");
  });

  test("is a countdown until a request is tried again", () => {
    const model = new ActivityModel();
    model.answerBegan(0);
    model.retries({ attempt: 2, maxAttempts: 5, delayMs: 3_000, why: "Overloaded." }, 1_000);
    expect(model.doing(1_001)).toEqual({
      text: "Retrying in 3 s (2/5): Overloaded.",
      sinceMs: undefined,
      stopKey: "Esc",
    });
    expect(model.doing(3_500)?.text).toBe("Retrying in 1 s (2/5): Overloaded.");
    expect(model.doing(4_000)?.text).toBe("Waiting for the model…");
  });

  test("shows a compaction before anything else", () =>
    everyRow([
      ["threshold", "Auto-compacting... (Esc to cancel)"],
      ["overflow", "Context overflow detected, Auto-compacting... (Esc to cancel)"],
      ["manual", "Compacting... (Esc to cancel)"],
    ] as const)(([reason, text]) => {
      const model = new ActivityModel();
      model.answerBegan(0);
      model.compactionBegan(reason, 1);
      expect(model.doing(2)).toEqual({ text, sinceMs: 1 });
      model.compactionEnded();
      expect(model.doing(3)?.text).toBe("Waiting for the model…");
    }));

  test("counts down to the next request for a compaction's summary", () =>
    everyRow([
      ["threshold", "Auto-compacting..."],
      ["overflow", "Context overflow detected, Auto-compacting..."],
    ] as const)(([reason, text]) => {
      const model = new ActivityModel();
      model.runBegan(0);
      model.compactionBegan(reason, 1_000);
      model.retries({ attempt: 2, maxAttempts: 3, delayMs: 4_000, why: "Overloaded." }, 2_000);
      expect(model.doing(2_001)).toEqual({
        text: `${text} retry 2 of 3 in 4 s (Esc to cancel) · Overloaded.`,
        sinceMs: undefined,
      });
      expect(model.doing(6_000)?.text).toBe(`${text} (Esc to cancel)`);
      model.compactionEnded();
      expect(model.doing(3_000)?.text).toBe("Working…");
    }));

  test("counts down to the next request for a branch's summary", () => {
    const model = new ActivityModel();
    model.branchSummaryBegan(0);
    model.retries({ attempt: 1, maxAttempts: 3, delayMs: 2_000, why: "Overloaded." }, 0);
    expect(model.doing(1)?.text).toBe(
      "Summarising the branch… retry 1 of 3 in 2 s (Esc to cancel) · Overloaded.",
    );
    model.aloneEnded();
    expect(model.doing(1)).toBeUndefined();
  });

  test("shows a stop only until the stopped work ends", () => {
    const model = new ActivityModel();
    model.commandBegan("sleep 9", 0);
    model.stopBegan(1);
    model.stopBegan(2);
    expect(model.doing(3)).toEqual({ text: "Stopping…", sinceMs: 1 });
    model.aloneEnded();
    expect(model.doing(4)).toBeUndefined();
    model.stopBegan(5);
    model.runBegan(6);
    expect(model.doing(7)?.text).toBe("Working…");
  });

  test("names a slow extension, alone or after work that can be cancelled", () => {
    const model = new ActivityModel();
    model.toolBegan({ id: "1", name: "bash", args: { command: "npm test" }, nowMs: 1 });
    const end = model.waitBegan({ source: "guard.ts", event: "tool_call", nowMs: 2 });
    expect(model.doing(3)).toMatchObject({
      text: "Waiting for guard.ts in tool_call… (Esc to stop)",
      sinceMs: 2,
    });
    model.compactionBegan("manual", 4);
    expect(model.doing(5)).toEqual({
      text: "Compacting... (Esc to cancel) · waiting for guard.ts in tool_call",
      sinceMs: 4,
    });
    model.compactionEnded();
    end();
    expect(model.doing(6)?.text).toBe("Running bash: npm test");
  });

  test("names the key that cancels as it is bound", () => {
    const model = new ActivityModel(() => "F5");
    model.branchSummaryBegan(0);
    expect(model.doing(1)?.text).toBe("Summarising the branch… (F5 to cancel)");
  });

  test("follows the events of the lifecycle", async () => {
    const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
    const model = new ActivityModel();
    const seen: (string | undefined)[] = [];
    followActivity({ lifecycle, model, now: () => 0, changed: () => seen.push(model.doing(0)?.text) });
    await lifecycle.notify("agent_start", { type: "agent_start" });
    await lifecycle.notify("message_start", { type: "message_start", message: answer });
    for (const type of ["start", "text", "text"] as const)
      await lifecycle.notify("message_update", {
        type: "message_update",
        message: answer,
        assistantMessageEvent: grows(type),
      });
    await lifecycle.notify("message_stored", { type: "message_stored", message: answer, entryId: "1" });
    const call = { toolCallId: "1", toolName: "bash" };
    await lifecycle.notify("tool_execution_start", {
      ...{ type: "tool_execution_start", ...call, args: { command: "ls" } },
    });
    await lifecycle.notify("tool_execution_end", {
      ...{ type: "tool_execution_end", ...call, result: { content: [] }, isError: false },
    });
    await lifecycle.notify("auto_compaction_start", { type: "auto_compaction_start", reason: "overflow" });
    const outcome = { status: "skipped", reason: "overflow", detail: "", tokensBefore: 0, tokensAfter: 0 };
    await lifecycle.notify("auto_compaction_end", {
      ...{ type: "auto_compaction_end", reason: "overflow", aborted: false, willRetry: false },
      outcome: outcome as never,
    });
    const result = { status: "done" } as const;
    await lifecycle.notify("agent_end", { type: "agent_end", messages: [], result });
    expect(seen).toEqual([
      "Working…",
      "Waiting for the model…",
      "Answering…",
      "Working…",
      "Running bash: ls",
      "Working…",
      "Context overflow detected, Auto-compacting... (Esc to cancel)",
      "Working…",
      undefined,
    ]);
  });
});
