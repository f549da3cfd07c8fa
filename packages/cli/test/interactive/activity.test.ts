import type { AssistantMessage } from "@bonsai-agent/messages";
import type { StreamEvent } from "@bonsai-agent/models";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import {
  currentActivity,
  NO_WORK,
  nextWork,
  type Wait,
  type Work,
  type WorkEvent,
} from "../../src/interactive/status/activity.ts";

const message = {
  role: "assistant",
  content: [{ type: "toolCall", id: "1", name: "edit", arguments: {} }],
} as unknown as AssistantMessage;
const starts: WorkEvent = { type: "agent_start" };
const answerStarts: WorkEvent = { type: "message_start", message };
const answerEnds: WorkEvent = { type: "message_stored", message, entryId: "1" };
const answerGrows = (type: "start" | "thinking" | "text" | "tool_call") =>
  ({
    ...{ type: "message_update", message },
    assistantMessageEvent: { type, contentIndex: 0, delta: "x", message } as StreamEvent,
  }) as WorkEvent;
const toolStarts = (toolCallId: string, toolName: string, args: object) =>
  ({ type: "tool_execution_start", toolCallId, toolName, args }) as WorkEvent;
const toolEnds = (toolCallId: string) => ({ type: "tool_execution_end", toolCallId }) as WorkEvent;
const compactionStarts = (reason: string) => ({ type: "auto_compaction_start", reason }) as WorkEvent;
const compactionEnds = { type: "auto_compaction_end" } as WorkEvent;
const bash = (command: string) => ({ type: "user_bash", command }) as WorkEvent;
const bashEnds = { type: "message_stored", message: { role: "bashExecution" } } as WorkEvent;
const summaryStarts = {
  ...{ type: "session_before_tree", preparation: { userWantsSummary: true, entriesToSummarize: [{}] } },
} as unknown as WorkEvent;
const retry = (attempt: number, maxAttempts: number, delayMs: number): WorkEvent => ({
  type: "retry",
  retry: { attempt, maxAttempts, delayMs, why: "Overloaded." },
});

/** The work after the events; each is a millisecond later than the one before, from 0 on. */
const workAfter = (...events: WorkEvent[]): Work =>
  events.reduce((work, event, nowMs) => nextWork(work, event, nowMs), NO_WORK);
const shown = (work: Work, nowMs: number, wait?: Wait) =>
  currentActivity(work, { nowMs, stopKey: "Esc", wait });
const textAfter = (...events: WorkEvent[]) => shown(workAfter(...events), events.length)?.text;

describe("the activity", () => {
  test("is nothing at first and after the end", () => {
    expect(textAfter()).toBeUndefined();
    const work = [starts, toolStarts("1", "bash", { command: "npm test" }), compactionStarts("threshold")];
    expect(textAfter(...work, { type: "agent_end" } as WorkEvent)).toBeUndefined();
  });

  test("names the phase of the answer and its start", () => {
    expect(textAfter(starts)).toBe("Working…");
    let work = workAfter(starts, answerStarts);
    expect(shown(work, 1)).toEqual({ text: "Waiting for the model…", sinceMs: 1, stopKey: "Esc" });
    work = nextWork(work, answerGrows("thinking"), 2);
    expect(nextWork(work, answerGrows("thinking"), 3)).toBe(work);
    expect(shown(work, 3)).toEqual({ text: "Thinking…", sinceMs: 2, stopKey: "Esc" });
    expect(textAfter(starts, answerStarts, answerGrows("text"))).toBe("Answering…");
    expect(textAfter(starts, answerStarts, answerGrows("tool_call"))).toBe("Preparing edit…");
    expect(shown(workAfter(starts, answerStarts, answerEnds), 6)).toEqual({
      ...{ text: "Working…", sinceMs: 0, stopKey: "Esc" },
    });
  });

  test("names the running tool, or counts several", () => {
    const tools = [
      toolStarts("1", "bash", { command: "npm test" }),
      toolStarts("2", "read", { path: "a.ts" }),
    ];
    expect(textAfter(tools[0]!)).toBe("Running bash: npm test");
    expect(textAfter(...tools)).toBe("Running 2 tools: bash: npm test · read: a.ts");
    expect(shown(workAfter(...tools, toolEnds("1")), 4)).toEqual({
      ...{ text: "Running read: a.ts", sinceMs: 1, stopKey: "Esc" },
    });
    expect(textAfter(toolStarts("3", "clock", {}))).toBe("Running clock");
  });

  test("counts down to the next try of a request", () => {
    const work = workAfter(answerStarts, retry(2, 5, 3_000));
    expect(shown(work, 2)).toEqual({
      ...{ text: "Retrying in 3 s (2/5): Overloaded.", sinceMs: undefined, stopKey: "Esc" },
    });
    expect(shown(work, 2_500)?.text).toBe("Retrying in 1 s (2/5): Overloaded.");
    expect(shown(work, 3_001)?.text).toBe("Waiting for the model…");
  });

  test("shows a compaction first", () =>
    everyRow([
      ["threshold", "Auto-compacting... (Esc to cancel)"],
      ["overflow", "Context overflow detected, Auto-compacting... (Esc to cancel)"],
      ["manual", "Compacting... (Esc to cancel)"],
    ] as const)(([reason, text]) => {
      const work = workAfter(answerStarts, compactionStarts(reason));
      expect(shown(work, 2)).toEqual({ text, sinceMs: 1 });
      expect(shown(nextWork(work, compactionEnds, 3), 3)?.text).toBe("Waiting for the model…");
    }));

  test("counts down to the next try of a summary", () => {
    const work = workAfter(starts, compactionStarts("threshold"), retry(2, 3, 4_000));
    expect(shown(work, 3)).toEqual({
      ...{ text: "Auto-compacting... retry 2 of 3 in 4 s (Esc to cancel) · Overloaded.", sinceMs: undefined },
    });
    expect(shown(work, 4_002)?.text).toBe("Auto-compacting... (Esc to cancel)");
    expect(textAfter(summaryStarts, retry(1, 3, 2_000))).toBe(
      "Summarising the branch… retry 1 of 3 in 2 s (Esc to cancel) · Overloaded.",
    );
  });

  test("shows a stop until the stopped work ends", () => {
    const work = workAfter(bash("sleep 9"), { type: "stop" }, { type: "stop" });
    expect(shown(work, 3)).toEqual({ text: "Stopping…", sinceMs: 1 });
    expect(shown(nextWork(work, bashEnds, 4), 4)).toBeUndefined();
    expect(shown(nextWork(work, starts, 4), 4)?.text).toBe("Running sleep 9 (Esc to cancel)");
  });

  test("names a slow extension, alone or after cancellable work", () => {
    const wait = { handler: "guard.ts in tool_call", sinceMs: 2 };
    const tool = toolStarts("1", "bash", { command: "npm test" });
    expect(shown(workAfter(tool), 3, wait)).toEqual({
      ...{ text: "Waiting for guard.ts in tool_call… (Esc to stop)", sinceMs: 2 },
    });
    expect(shown(workAfter(tool, compactionStarts("manual")), 5, wait)?.text).toBe(
      "Compacting... (Esc to cancel) · waiting for guard.ts in tool_call",
    );
  });

  test("hides a run but no wait, retry or cancellable work", () => {
    const hidden = (work: Work, wait?: Wait) =>
      currentActivity(work, { nowMs: 9, stopKey: "F5", isHidden: true, wait })?.text;
    expect(hidden(workAfter(starts, answerStarts))).toBeUndefined();
    expect(hidden(workAfter(starts), { handler: "a.ts in input", sinceMs: 0 })).toContain("a.ts in input");
    expect(hidden(workAfter(starts, summaryStarts))).toBe("Summarising the branch… (F5 to cancel)");
  });
});
