import { type AgentState, lifecycleEventRules, type RunResult } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { emptyUsage } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { agentCall } from "../src/command-line/agent-call.ts";
import { AnswerScreen, PrintProgress, RunCost } from "../src/print/print-mode.ts";

function lastLine(state: Partial<AgentState>, status: RunResult["status"] = "done"): string {
  let stderr = "";
  const io = {
    stdout: { write: () => {} },
    stderr: {
      write: (text: string) => {
        stderr += text;
      },
    },
    stdin: undefined,
    env: { NO_COLOR: "1", BONSAI_HOME: "/h" },
    cwd: "/",
    now: Date.now,
    interruptible: <T>(work: (signal: AbortSignal) => Promise<T>) => work(new AbortController().signal),
  };
  const progress = new PrintProgress(agentCall(["-p", "hi"], io), new AnswerScreen(io.stdout));
  const cost = new RunCost();
  progress.ended({ status }, { sessionId: "abc", ...state } as AgentState, cost);
  return stderr.trim().split(" · ").at(-1)!;
}

test("the last line says how to continue the session", () =>
  everyRow([
    ["a recorded session", { sessionFile: "/h/sessions/-p/s.jsonl", leafId: "1" }, "bonsai -r abc"],
    ["a session file elsewhere", { sessionFile: "/s.jsonl", leafId: "1" }, "bonsai -r s.jsonl"],
    [
      "a file with a blank",
      { sessionFile: "/o/it's 1.jsonl", leafId: "1" },
      "bonsai -r '/o/it'\\''s 1.jsonl'",
    ],
    ["a session whose first entry failed", { sessionFile: "/s.jsonl", leafId: null }, "not saved"],
    ["a session in memory", { leafId: "1" }, "not saved"],
  ])(([_, state, words]) => {
    expect(lastLine(state)).toBe(words);
  }));

test("a command that was interrupted before it asked a model took nothing", () => {
  expect(lastLine({}, "aborted")).toBe("");
  expect(lastLine({ sessionFile: "/h/sessions/-p/s.jsonl", leafId: "1" }, "aborted")).toBe("bonsai -r abc");
});

test("a run's cost is that of answers, of tools that asked models, and of summaries", async () => {
  const lifecycle = new Lifecycle({ rules: lifecycleEventRules });
  const cost = new RunCost();
  cost.listen(lifecycle);
  const usage = (input: number) => ({ ...emptyUsage(), input, totalTokens: input });
  for (const message of [
    { role: "user", content: "hi" },
    { role: "assistant", content: [], usage: usage(1) },
    { role: "toolResult", content: [], usage: usage(20) },
    { role: "toolResult", content: [] },
  ])
    await lifecycle.decide("message_end", { type: "message_end", message: message as never });
  const compactionEntry = { type: "compaction", usage: usage(300) } as never;
  await lifecycle.notify("session_compact", {
    type: "session_compact",
    compactionEntry,
    fromExtension: false,
    reason: "manual",
    willRetry: false,
  });
  expect(cost.usage.input).toBe(321);
});
