import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { messageText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { z } from "zod";
import type { LifecycleEvents } from "../events/lifecycle-events.ts";
import type { RunResult } from "../run/run-result.ts";
import { defineTool, type Tool, type ToolExecution, type ToolResult } from "../tool.ts";
import { subAgentLifecycle } from "./task-tool-lifecycle.ts";
import { TaskProgress } from "./task-tool-progress.ts";
import { type TaskDetails, taskDetails } from "./task-tool-report.ts";
import { subAgentSession } from "./task-tool-session.ts";

/** What the task tool needs of an agent. */
export interface SubAgent {
  prompt(text: string): Promise<RunResult>;
  abort(): Promise<void>;
  close(): Promise<void>;
}

export interface TaskToolOptions {
  /** The parent's: the sub-agents' sessions lie beside it. */
  session: Session;
  /** The parent's: its guards watch over the sub-agents too. */
  lifecycle: Lifecycle<LifecycleEvents>;
  /**
   * Opens an agent that works in this session and tells this lifecycle: with the parent's model as it is now, the same
   * tools without this one, and `isSubAgent`.
   */
  startAgent(own: { session: Session; lifecycle: Lifecycle<LifecycleEvents> }): Promise<SubAgent> | SubAgent;
}

const parameters = z.object({
  description: z.string().min(1).describe("The task in three to eight words, for the user to see."),
  prompt: z
    .string()
    .min(1)
    .describe("The whole task with all that is needed to do it, and what the answer must tell."),
});

type TaskInput = z.output<typeof parameters>;

const DESCRIPTION = `Gives a self-contained piece of work to a sub-agent and returns its last answer. The sub-agent has the same tools and a context of its own: it sees nothing of this conversation, and you see nothing of its work but that answer. Use it for work that reads much and has a short result, such as finding out how something works in a large code base, or for pieces that do not depend on each other: several calls in one answer run side by side, so do not let two of them change the same files. Do what takes a few tool calls yourself.`;

/** Whoever works alone must not ask back, and must know what of the work is seen. */
const ALONE =
  "[You work on this alone: nobody answers questions. Your last message, and nothing else of your work, is handed to the agent that gave you the task.]";

/** The tool `task`: gives a piece of work to an agent with a context of its own. */
export function taskTool(options: TaskToolOptions): Tool {
  return defineTool({
    name: "task",
    label: "Task",
    description: DESCRIPTION,
    parameters,
    execute: (call) => carryOut(options, call),
  });
}

async function carryOut(options: TaskToolOptions, call: ToolExecution<TaskInput>): Promise<ToolResult> {
  const { description, prompt } = call.input;
  const session = subAgentSession(options.session, description);
  const lifecycle = subAgentLifecycle(options.lifecycle);
  const progress = new TaskProgress({ lifecycle, sessionFile: session.file, onUpdate: call.onUpdate });
  try {
    const agent = await options.startAgent({ session, lifecycle });
    try {
      const result = await runUntilAborted(agent, `${prompt}\n\n${ALONE}`, call.signal);
      return taskResult(result, taskDetails(session, progress.turns));
    } finally {
      await agent.close();
    }
  } finally {
    session.close();
  }
}

async function runUntilAborted(agent: SubAgent, prompt: string, signal: AbortSignal): Promise<RunResult> {
  if (signal.aborted) return { status: "aborted" };
  const stop = () => void agent.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await agent.prompt(prompt);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function taskResult(result: RunResult, details: TaskDetails): ToolResult<TaskDetails> {
  const text =
    result.status === "done" && result.answer !== undefined ? messageText(result.answer).trim() : "";
  const isError = text === "";
  const said = isError ? `${whyNot(result)}${alreadyModified(details)}` : text;
  return { content: [{ type: "text", text: said }], details, usage: details.usage, isError };
}

function whyNot({ status, error }: RunResult): string {
  if (status === "aborted") return "The sub-agent was stopped before it ended.";
  if (error !== undefined) return `The sub-agent failed. ${error.message}`;
  return "The sub-agent ended without an answer.";
}

/** What was done stays done, and whoever goes on must know. */
function alreadyModified({ modifiedFiles }: TaskDetails): string {
  return modifiedFiles.length === 0 ? "" : ` It had modified: ${modifiedFiles.join(", ")}.`;
}
