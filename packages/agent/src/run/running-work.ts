import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { isRecord, type Message, shortened } from "@bonsai-agent/messages";
import { CallPairs, MESSAGE_TYPES, readSummary } from "@bonsai-agent/messages/host";
import type { Session } from "@bonsai-agent/session";
import type { CustomInput } from "../events.ts";
import type { LifecycleEvents } from "../lifecycle.ts";
import { type RunningProcess, runningProcesses } from "../tools/process.ts";

// Lists the running background processes for the model, so that it starts none twice: after each compaction, and when a
// session is reopened.

/** The tag of the list in a summary. */
const TAG = "running-work";
const MAX_COMMAND_CHARS = 200;

const INTRODUCTION =
  "Background processes that still run, by process id: do not start them again. `kill ID` stops one.";

/** A process and the command that started it. */
interface StartedProcess extends RunningProcess {
  command: string;
}

/** Adds the list to compactions, and a note to the first prompt of a reopened session. Returns a function that stops it. */
export function reportRunningWork(lifecycle: Lifecycle<LifecycleEvents>, session: Session): () => void {
  let isFirst = true;
  const offs = [
    lifecycle.on("session_before_compact", async () => {
      const running = await stillRunning(startedProcesses(messagesOf(session)));
      return running.length === 0
        ? undefined
        : { carryOver: { [TAG]: [INTRODUCTION, ...running.map(lineOf)] } };
    }),
    lifecycle.on("before_agent_start", async () => {
      const started = isFirst ? startedProcesses(messagesOf(session)) : [];
      isFirst = false;
      return started.length === 0 ? undefined : { message: noteOf(started, await stillRunning(started)) };
    }),
  ];
  return () => {
    for (const off of offs) off();
  };
}

function messagesOf(session: Session): Message[] {
  return session.projection().items.map(({ message }) => message);
}

/** The processes in results, summaries and notes, except those that a note marks as ended. */
function startedProcesses(messages: readonly Message[]): StartedProcess[] {
  const calls = new CallPairs();
  const started = new Map<number, StartedProcess>();
  for (const message of messages) {
    const call = calls.add(message)?.call;
    if (message.role === "compactionSummary") {
      for (const line of readSummary(message.summary, [TAG]).carried.get(TAG) ?? []) {
        const listed = listedProcess(line);
        if (listed !== undefined) started.set(listed.pid, listed);
      }
    } else if (message.role === "toolResult") {
      const command = shortened(
        String(call?.arguments.command ?? message.toolName).trim(),
        MAX_COMMAND_CHARS,
      );
      for (const each of processesIn(message.details)) started.set(each.pid, { ...each, command });
    } else if (message.role === "custom" && message.customType === MESSAGE_TYPES.runningWork) {
      for (const pid of endedIn(message.details)) started.delete(pid);
    }
  }
  return [...started.values()];
}

function processesIn(details: unknown): RunningProcess[] {
  const listed =
    isRecord(details) && Array.isArray(details.background) ? details.background.filter(isRecord) : [];
  return listed.flatMap(({ pid, name }) =>
    typeof pid === "number" && typeof name === "string" ? [{ pid, name }] : [],
  );
}

function endedIn(details: unknown): number[] {
  const ended = isRecord(details) && Array.isArray(details.ended) ? details.ended : [];
  return ended.filter((pid) => typeof pid === "number");
}

async function stillRunning(started: readonly StartedProcess[]): Promise<StartedProcess[]> {
  const running = await runningProcesses(started);
  return started.filter(({ pid }) => running.has(pid));
}

function lineOf({ pid, name, command }: StartedProcess): string {
  return `${pid} (${name}): ${command.replaceAll(/\s*\n\s*/g, "; ")}`;
}

/** Reads a line that `lineOf` wrote. */
function listedProcess(line: string): StartedProcess | undefined {
  const [, pid, name = "", command = ""] = /^(\d+) \((.*?)\): (.*)$/.exec(line) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), name, command };
}

function noteOf(started: readonly StartedProcess[], running: readonly StartedProcess[]): CustomInput {
  const ended = started.filter((each) => !running.includes(each));
  const lines = [
    ...running.map((each) => `- still running, do not start it again: ${lineOf(each)}`),
    ...ended.map((each) => `- ended: ${lineOf(each)}`),
  ];
  return {
    customType: MESSAGE_TYPES.runningWork,
    content: ["Background processes from before this session was opened again:", ...lines].join("\n"),
    display: true,
    details: { ended: ended.map(({ pid }) => pid) },
  };
}
