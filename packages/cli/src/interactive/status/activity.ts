import type { AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { CompactionReason } from "@bonsai-agent/compaction";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import type { StreamEvent } from "@bonsai-agent/models";
import { callPreview } from "../../views/preview.ts";
import { oneLine } from "../../views/terminal-text.ts";

export interface Activity {
  text: string;
  /** Undefined for a countdown: one clock is enough. */
  sinceMs: number | undefined;
  /** The key that stops the work, unless the text names it. */
  stopKey?: string;
}

type Retry = NonNullable<AgentNotice["retry"]>;

export interface Work {
  readonly runSinceMs?: number | undefined;
  readonly answer?: Activity | undefined;
  readonly tools: ReadonlyMap<string, Activity>;
  readonly retry?: (Retry & { untilMs: number }) | undefined;
  readonly compaction?: Activity | undefined;
  /** A command of the user, or a branch that is summarised. */
  readonly userTask?: Activity | undefined;
  readonly stopping?: Activity | undefined;
  /** True after the last answer of a run: the agent will be idle soon. */
  readonly isEnding?: boolean;
}

export const NO_WORK: Work = { tools: new Map() };

/** The events that change the work. */
export const WORK_EVENTS = [
  ...(["agent_start", "agent_end", "session_start", "session_shutdown"] as const),
  ...(["message_start", "message_update", "message_stored"] as const),
  ...(["tool_execution_start", "tool_execution_end", "user_bash"] as const),
  ...(["auto_compaction_start", "auto_compaction_end", "session_before_tree", "session_tree"] as const),
];

export type WorkEvent =
  | PayloadOf<LifecycleEvents[(typeof WORK_EVENTS)[number]]>
  | { type: "retry"; retry: Retry }
  | { type: "stop" };

/** The work after an event; the same object if the event changes nothing. */
export function nextWork(work: Work, event: WorkEvent, nowMs: number): Work {
  switch (event.type) {
    case "agent_start":
      return { ...work, runSinceMs: nowMs, stopping: undefined, isEnding: false };
    case "agent_end":
      return { ...NO_WORK, isEnding: true };
    case "session_start":
    case "session_shutdown":
      return NO_WORK;
    case "message_start":
      return event.message.role === "assistant"
        ? { ...work, answer: { text: WAITING, sinceMs: nowMs }, isEnding: false }
        : work;
    case "message_update": {
      const { answer, retry } = work;
      const text = answerText(event.assistantMessageEvent);
      if (text === undefined || (text === answer?.text && retry === undefined)) return work;
      return { ...work, answer: text === answer?.text ? answer : { text, sinceMs: nowMs }, retry: undefined };
    }
    case "message_stored":
      if (event.message.role === "assistant") {
        const isEnding = !event.message.content.some(({ type }) => type === "toolCall");
        return { ...work, answer: undefined, retry: undefined, isEnding };
      }
      return event.message.role === "bashExecution" ? endUserTask(work) : work;
    case "tool_execution_start": {
      const text = callPreview(`${event.toolName}:`, event.args).replace(/:$/, "");
      return { ...work, tools: new Map(work.tools).set(event.toolCallId, { text, sinceMs: nowMs }) };
    }
    case "tool_execution_end":
      return { ...work, tools: new Map([...work.tools].filter(([id]) => id !== event.toolCallId)) };
    case "user_bash":
      return startUserTask(work, `Running ${oneLine(event.command, 160)}`, nowMs);
    case "auto_compaction_start":
      return {
        ...work,
        compaction: { text: COMPACTION_TEXTS[event.reason], sinceMs: nowMs },
        ...{ retry: undefined, isEnding: false },
      };
    case "auto_compaction_end":
      return { ...work, compaction: undefined, retry: undefined };
    case "session_before_tree": {
      const { userWantsSummary, entriesToSummarize } = event.preparation;
      if (!userWantsSummary || entriesToSummarize.length === 0) return work;
      return startUserTask(work, "Summarising the branch…", nowMs);
    }
    case "session_tree":
      return endUserTask(work);
    case "retry": {
      const { retry } = event;
      const untilMs = nowMs + retry.delayMs;
      return { ...work, retry: { ...retry, why: oneLine(retry.why, 160), untilMs } };
    }
    case "stop":
      return { ...work, stopping: work.stopping ?? { text: "Stopping…", sinceMs: nowMs } };
  }
}

function startUserTask(work: Work, text: string, sinceMs: number): Work {
  return { ...work, userTask: { text, sinceMs }, retry: undefined, isEnding: false };
}

function endUserTask(work: Work): Work {
  return { ...work, userTask: undefined, retry: undefined, stopping: undefined };
}

const WAITING = "Waiting for the model…";

const COMPACTION_TEXTS: Readonly<Record<CompactionReason, string>> = {
  threshold: "Auto-compacting...",
  overflow: "Context overflow detected, Auto-compacting...",
  manual: "Compacting...",
};

function answerText(event: StreamEvent): string | undefined {
  if (event.type === "start") return WAITING;
  if (event.type === "thinking") return "Thinking…";
  if (event.type === "text") return "Answering…";
  if (event.type !== "tool_call") return undefined;
  const block = event.message.content[event.contentIndex];
  return block?.type === "toolCall" && block.name !== ""
    ? `Preparing ${oneLine(block.name, 40)}…`
    : "Preparing a tool call…";
}

/** A handler of an extension that has not answered yet. */
export interface Wait {
  /** `guard.ts in tool_call`. */
  handler: string;
  sinceMs: number;
}

interface ActivityOptions {
  nowMs: number;
  stopKey: string;
  wait?: Wait | undefined;
  /** An extension's text for a run. */
  message?: string | undefined;
  /** True to show only waits, retries and cancellable work. Default false. */
  isHidden?: boolean;
}

/** The activity to show; undefined if there is none. */
export function currentActivity(work: Work, options: ActivityOptions): Activity | undefined {
  const { nowMs, stopKey, wait, message, isHidden = false } = options;
  const { stopping, retry } = work;
  if (stopping !== undefined) return stopping;
  const seconds = retry === undefined ? 0 : Math.ceil((retry.untilMs - nowMs) / 1000);
  const task = work.compaction ?? work.userTask;
  if (task !== undefined) {
    const cancel = `(${stopKey} to cancel)`;
    if (retry !== undefined && seconds > 0) {
      const tries = `retry ${retry.attempt} of ${retry.maxAttempts} in ${seconds} s`;
      return { text: `${task.text} ${tries} ${cancel} · ${retry.why}`, sinceMs: undefined };
    }
    const waits = wait === undefined ? "" : ` · waiting for ${wait.handler}`;
    return { ...task, text: `${task.text} ${cancel}${waits}` };
  }
  if (retry !== undefined && seconds > 0) {
    const text = `Retrying in ${seconds} s (${retry.attempt}/${retry.maxAttempts}): ${retry.why}`;
    return { text, sinceMs: undefined, stopKey };
  }
  if (wait !== undefined)
    return { text: `Waiting for ${wait.handler}… (${stopKey} to stop)`, sinceMs: wait.sinceMs };
  const activity = isHidden ? undefined : runActivity(work, message);
  return activity && { ...activity, stopKey };
}

function runActivity({ runSinceMs, tools, answer }: Work, message: string | undefined): Activity | undefined {
  if (runSinceMs !== undefined && message !== undefined) return { text: message, sinceMs: runSinceMs };
  const [first] = tools.values();
  if (first !== undefined) {
    const texts = [...tools.values()].map(({ text }) => text).join(" · ");
    return {
      ...first,
      text: tools.size === 1 ? `Running ${texts}` : `Running ${tools.size} tools: ${texts}`,
    };
  }
  if (answer !== undefined || runSinceMs === undefined) return answer;
  return { text: "Working…", sinceMs: runSinceMs };
}
