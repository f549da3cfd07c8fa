import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FileOperationCounter } from "@bonsai-agent/compaction/host";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import {
  addUsage,
  callParts,
  contentText,
  emptyUsage,
  type Message,
  messageText,
  type Usage,
} from "@bonsai-agent/messages";
import { count, lineText } from "@bonsai-agent/messages/numbers";
import { type ChangedLines, createSession, openSession, type Session } from "@bonsai-agent/session";
import { z } from "zod";
import type { RunResult } from "./events.ts";
import { type LifecycleEvents, lifecycleEventRules } from "./lifecycle.ts";
import {
  defineTool,
  type InterruptedCall,
  type Tool,
  type ToolExecution,
  type ToolResult,
} from "./tools/tool-registry.ts";

/** The methods of `Agent` that the task tool uses. */
interface SubAgent {
  prompt(text: string): Promise<RunResult>;
  abort(): Promise<void>;
  close(): Promise<void>;
}

interface TaskToolOptions {
  /** The parent's session. */
  session: Session;
  /** The parent's lifecycle; its guards apply to the sub-agents too. */
  lifecycle: Lifecycle<LifecycleEvents>;
  /** Opens a sub-agent with the parent's current model and its tools without this one. */
  startAgent(own: { session: Session; lifecycle: Lifecycle<LifecycleEvents> }): Promise<SubAgent> | SubAgent;
}

const parameters = z.object({
  description: z.string().min(1).describe("The task in three to eight words, shown to the user."),
  prompt: z
    .string()
    .min(1)
    .describe("The complete task: everything needed to do it, and what the answer must contain."),
});

const DESCRIPTION = `Gives a self-contained task to a sub-agent and returns its last answer. The sub-agent has the same tools but its own context: it sees nothing of this conversation, and you see only that answer. Use it for work that reads a lot and has a short result, such as finding out how something works in a large code base. Use it also for independent parts of the work: several calls in one answer run in parallel, so two of them must not change the same files. If a task needs only a few tool calls, do it yourself.`;

const ALONE =
  "[You work on this alone: nobody can answer questions. The agent that gave you the task sees only your last message.]";

/** The tool `task`: gives a piece of work to an agent with a context of its own. */
export function taskTool(options: TaskToolOptions): Tool {
  return defineTool({
    name: "task",
    label: "Task",
    description: DESCRIPTION,
    parameters,
    execute: (call) => runTask(options, call),
    interrupted: async ({ arguments: args }) => interruptedTask(options.session, String(args.prompt)),
  });
}

/** Reads the session of a sub-agent that the program's end interrupted; undefined if it has none. */
function interruptedTask(parent: Session, prompt: string): InterruptedCall | undefined {
  const folder = tasksFolder(parent);
  if (folder === undefined || !existsSync(folder)) return undefined;
  for (const name of readdirSync(folder).sort().reverse()) {
    const session = openSession(join(folder, name));
    const [first] = session.projection().items;
    if (first?.message.role === "user" && contentText(first.message.content) === taskPrompt(prompt)) {
      const details = taskDetails(session, { turns: 0, calls: [], callCount: 0 });
      session.close();
      return { text: `The sub-agent was interrupted.${changedFilesText(details)}`, details };
    }
    session.close();
  }
  return undefined;
}

function tasksFolder({ file }: Session): string | undefined {
  return file === undefined ? undefined : `${file.replace(/\.jsonl$/, "")}.tasks`;
}

function taskPrompt(prompt: string): string {
  return `${prompt}\n\n${ALONE}`;
}

async function runTask(
  options: TaskToolOptions,
  call: ToolExecution<z.output<typeof parameters>>,
): Promise<ToolResult> {
  const { description, prompt } = call.input;
  const session = subAgentSession(options.session, description);
  const lifecycle = subAgentLifecycle(options.lifecycle);
  const progress = followTask(lifecycle, session.file, call.onUpdate);
  try {
    const agent = await options.startAgent({ session, lifecycle });
    try {
      const result = await runUntilAborted(agent, taskPrompt(prompt), call.signal);
      return taskResult(result, taskDetails(session, progress()));
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
  const { status, answer, error } = result;
  const { usage } = details;
  const text = status === "done" && answer !== undefined ? messageText(answer).trim() : "";
  if (text !== "") return { content: [{ type: "text", text }], details, usage, isError: false };
  const why =
    status === "aborted"
      ? "The sub-agent was stopped before it ended."
      : error === undefined
        ? "The sub-agent ended without an answer."
        : `The sub-agent failed. ${error.message}`;
  // The changes of a failed task remain.
  const content = [{ type: "text" as const, text: why + changedFilesText(details) }];
  return { content, details, usage, isError: true };
}

function changedFilesText({ modifiedFiles }: TaskDetails): string {
  return modifiedFiles.length === 0 ? "" : ` It changed these files: ${modifiedFiles.join(", ")}.`;
}

/** Creates a session beside the parent's, in a folder that the session list ignores; in memory if the parent is. */
function subAgentSession(parent: Session, name: string): Session {
  const id = crypto.randomUUID();
  const startedAt = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const folder = tasksFolder(parent);
  if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const place = folder && { id, file: join(folder, `${startedAt}_${id}.jsonl`), parentSession: parent.file! };
  const session = createSession({ cwd: parent.cwd, ...place });
  session.append({ type: "session_info", name });
  return session;
}

/** A lifecycle of its own, so that handlers do not mistake it for the parent. Guards of tools and requests apply to both. */
function subAgentLifecycle(parent: Lifecycle<LifecycleEvents>): Lifecycle<LifecycleEvents> {
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    // The parent's lifecycle reports slow handlers.
    setTimer: () => () => {},
  });
  lifecycle.on("tool_call", async ({ current: _, ...event }, { signal }) => {
    const { result } = await parent.decide("tool_call", event, { signal });
    return result;
  });
  lifecycle.on("tool_result", async ({ current: _, ...event }, { signal }) => {
    if (!parent.hasHandlers("tool_result")) return undefined;
    const { payload } = await parent.decide("tool_result", event, { signal });
    const { content, details, isError, usage } = payload;
    return { content: [...content], details, isError, ...(usage === undefined ? {} : { usage }) };
  });
  lifecycle.on("context", async ({ current: _, ...event }, { signal }) => {
    const { messages } = (await parent.decide("context", event, { signal })).payload;
    return messages === event.messages ? undefined : { messages };
  });
  lifecycle.on("before_provider_request", async ({ current: _, ...event }, { signal }) => {
    const { payload } = (await parent.decide("before_provider_request", event, { signal })).payload;
    return payload === event.payload ? undefined : (payload as object);
  });
  lifecycle.on("after_provider_response", (event) => parent.notify("after_provider_response", event));
  return lifecycle;
}

/** A call of a sub-agent. */
export interface TaskCall {
  /** On one line. */
  text: string;
  /** A call that never ended stays `running`. */
  state: "running" | "done" | "failed";
}

interface TaskProgress {
  /** Requests to the model for the task itself. */
  turns: number;
  /** The latest calls, at most 100, in order. */
  calls: TaskCall[];
  callCount: number;
}

/** Details of an update. */
export interface TaskUpdate extends TaskProgress {
  sessionFile: string | undefined;
  usage: Usage;
  /** The current call; absent while the model answers. */
  tool?: string | undefined;
}

const TOOL_CHARACTERS = 80;
const MAX_CALLS = 100;
const CALL_CHARACTERS = 160;

/** Shows turns, tokens and the current call. Returns a function for the progress so far. */
function followTask(
  lifecycle: Lifecycle<LifecycleEvents>,
  sessionFile: string | undefined,
  onUpdate: ToolExecution["onUpdate"],
): () => TaskProgress {
  const calls = new Map<string, TaskCall>();
  let turns = 0;
  let callCount = 0;
  let usage = emptyUsage();
  const progress = () => ({ turns, calls: [...calls.values()].map((each) => ({ ...each })), callCount });
  const update = (tool?: string) => {
    const tokens = count(usage.totalTokens ?? 0);
    const text = `Turn ${turns}, ${tokens} tokens: ${tool ?? "the model is answering"}`;
    const details: TaskUpdate = { sessionFile, usage, ...progress(), ...(tool !== undefined && { tool }) };
    onUpdate({ content: [{ type: "text", text }], details });
  };
  lifecycle.on("turn_start", () => {
    turns += 1;
    update();
  });
  lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
    callCount += 1;
    // Some providers repeat ids: the latest call counts.
    calls.delete(toolCallId);
    calls.set(toolCallId, { text: lineText(callParts(toolName, args), CALL_CHARACTERS), state: "running" });
    if (calls.size > MAX_CALLS) calls.delete(calls.keys().next().value!);
    update(lineText(callParts(toolName, args), TOOL_CHARACTERS));
  });
  lifecycle.on("tool_execution_end", ({ toolCallId, isError }) => {
    const call = calls.get(toolCallId);
    if (call !== undefined) call.state = isError ? "failed" : "done";
  });
  lifecycle.on("turn_end", ({ message }) => {
    usage = addUsage(usage, message.usage);
  });
  return progress;
}

/** Maximum of each list of files in a result: the latest ones. */
const LISTED_FILES = 2_000;

/** Details of a task's result. Compaction carries the file lists over. */
export interface TaskDetails extends TaskProgress {
  /** Absent if the parent's session is in memory. */
  sessionFile?: string;
  /** Sorted, without the modified files. */
  readFiles: string[];
  /** Sorted. */
  modifiedFiles: string[];
  /** Deleted and renamed files and folders, under their old names. */
  removedFiles: string[];
  /** With the number of lines that edits and writes added and removed. */
  changedFiles: ChangedLines[];
  /** All requests to models, summaries included. */
  usage: Usage;
}

/** Reads the whole session of the sub-agent, with its summarised entries. */
function taskDetails(session: Session, progress: TaskProgress): TaskDetails {
  const entries = session.entries();
  const messages = entries.flatMap((entry): Message[] => (entry.type === "message" ? [entry.message] : []));
  const files = new FileOperationCounter(messages);
  const { read, modified } = files.operations();
  const removed = files.moves().flatMap(({ from }) => (modified.includes(from) ? [] : from));
  return {
    ...(session.file === undefined ? {} : { sessionFile: session.file }),
    readFiles: read.slice(0, LISTED_FILES).sort(),
    modifiedFiles: modified.slice(0, LISTED_FILES).sort(),
    removedFiles: removed.slice(0, LISTED_FILES),
    changedFiles: files.changedLines(session.cwd).slice(-LISTED_FILES),
    ...progress,
    usage: entries
      .map((entry) => (entry.type === "message" ? entry.message : entry))
      .reduce((sum, from) => addUsage(sum, ("usage" in from && from.usage) || emptyUsage()), emptyUsage()),
  };
}
