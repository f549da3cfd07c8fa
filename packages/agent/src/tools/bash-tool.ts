import { duration } from "@bonsai-agent/messages/numbers";
import { z } from "zod";
import type { NamedSecret } from "./mask-keys.ts";
import { callEnvironment, survivingProcesses } from "./process.ts";
import {
  countLines,
  MAX_RESULT_BYTES,
  MAX_RESULT_LINES,
  shownBytes,
  shownCount,
  shownLines,
  type Truncation,
  tailOf,
  truncationTo,
} from "./result-text.ts";
import { type ShellOutcome, shellCommand } from "./shell-command.ts";
import { defineTool, type Tool, type ToolResult } from "./tool-registry.ts";

/** A day. Timers end at 24 days. */
const MAX_TIMEOUT_SECONDS = 86_400;
/** Time between two updates: more would flicker and cost work in front ends. */
const UPDATE_MS = 100;

const parameters = z.object({
  command: z.string().min(1).describe("The command that bash runs in the working folder."),
  timeout: z
    .number()
    .positive()
    .max(MAX_TIMEOUT_SECONDS)
    .optional()
    .describe("Time limit in seconds for the command and all processes that it starts."),
});

interface BashToolOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Called at each command. */
  secrets?: (() => readonly NamedSecret[]) | undefined;
  /** Default of a call; 0 for no limit. */
  timeoutSeconds: number;
  /** Runs the command. Default: a shell of this machine. */
  run?: typeof shellCommand | undefined;
}

/** Details of a command, for people and programs. */
export interface BashDetails
  extends Pick<ShellOutcome, "exitCode" | "endSignal" | "end" | "elapsedMs" | "background"> {
  truncated: boolean;
  truncation?: Truncation | undefined;
  fullOutputPath?: string | undefined;
}

export function bashTool({
  cwd,
  env,
  secrets = () => [],
  timeoutSeconds,
  run = shellCommand,
}: BashToolOptions): Tool {
  const limit = timeoutSeconds > 0 ? `The default timeout is ${timeoutSeconds} seconds. ` : "";
  return defineTool({
    name: "bash",
    label: "Bash",
    description: `Runs a command with bash in the working folder and returns its output, stdout and stderr together: the last ${shownCount(MAX_RESULT_LINES)} lines or ${shownBytes(MAX_RESULT_BYTES)}, with the path of a file that contains all of it. Each call starts a new shell, without a terminal and without input. ${limit}Start servers in the background with their output in a file. Commands can change files outside the project: be careful.`,
    parameters,
    async execute({ toolCallId, input: { command, timeout = timeoutSeconds }, signal, onUpdate }) {
      const updates = throttledTail((text) => onUpdate({ content: [{ type: "text", text }] }));
      const timeoutMs = timeout > 0 ? timeout * 1_000 : undefined;
      try {
        const place = { cwd, env: { ...env, ...callEnvironment(toolCallId) }, secrets: secrets() };
        const outcome = await run({ command, ...place, timeoutMs, signal, onText: updates.push });
        return result(outcome, timeout);
      } finally {
        updates.stop();
      }
    },
    async interrupted({ id }) {
      const background = await survivingProcesses(id);
      if (background.length === 0) return undefined;
      const text = `It still runs: ${processList(background)}. Do not start it again.`;
      return { text, details: { background } };
    },
  });
}

/** Shows the end of the output: at once, then every `UPDATE_MS` if it grew. */
function throttledTail(show: (text: string) => void): { push: (text: string) => void; stop: () => void } {
  let tail = "";
  let timer: NodeJS.Timeout | undefined;
  let isStale = false;
  const update = () => {
    timer = isStale ? setTimeout(update, UPDATE_MS) : undefined;
    if (isStale) show(tailOf(tail));
    isStale = false;
  };
  const push = (text: string) => {
    tail = `${tail}${text}`;
    if (tail.length > 2 * MAX_RESULT_BYTES) tail = tailOf(tail);
    isStale = true;
    if (timer === undefined) update();
  };
  return { push, stop: () => clearTimeout(timer) };
}

function result(outcome: ShellOutcome, timeoutSeconds: number): ToolResult<BashDetails> {
  const { output, end, exitCode, endSignal, background, elapsedMs } = outcome;
  const ending = endingOf(outcome, timeoutSeconds);
  const text = [...shownOutput(outcome), ...backgroundNote(background), ...ending].join("\n");
  return {
    content: [{ type: "text", text }],
    isError: ending.length > 0,
    details: {
      ...{ exitCode, endSignal, end, background, elapsedMs: Math.round(elapsedMs) },
      truncated: output.isLong,
      ...(output.isLong ? { truncation: truncationOf(output) } : {}),
      fullOutputPath: output.path,
    },
  };
}

function truncationOf({ tail, lines, bytes }: ShellOutcome["output"]): Truncation {
  const isOneLine = !tail.slice(0, -1).includes("\n");
  // A character at the cut can have cost three bytes.
  const lastLinePartial = isOneLine && Buffer.byteLength(tail) > MAX_RESULT_BYTES - 4;
  const truncatedBy = countLines(tail) === MAX_RESULT_LINES ? "lines" : "bytes";
  return truncationTo(tail, { truncatedBy, totalLines: lines, totalBytes: bytes, lastLinePartial });
}

function shownOutput({ output, isBinary }: ShellOutcome): string[] {
  if (output.bytes === 0) return ["(no output)"];
  if (isBinary) return [`[The output is binary, ${shownBytes(output.bytes)}. Redirect it to a file.]`];
  if (!output.isLong) return [output.tail.replace(/\n$/, "")];
  const where = output.path === undefined ? "" : ` The full output is in ${output.path}: read or grep it.`;
  const problem = output.problem === undefined ? "" : ` But ${output.problem}.`;
  return [
    `[Cut: this is only the end of the output (${shownLines(output.lines)}, ${shownBytes(output.bytes)}).${where}${problem}]`,
    output.tail.replace(/\n$/, ""),
  ];
}

function backgroundNote(background: ShellOutcome["background"]): string[] {
  if (background.length === 0) return [];
  return [
    `[Still running in the background: ${processList(background)}. You will not see their further output; redirect it to a file.]`,
  ];
}

function processList(processes: ShellOutcome["background"]): string {
  return processes.map(({ pid, name }) => `${pid} (${name})`).join(", ");
}

/** Says why the command counts as failed. */
function endingOf({ end, exitCode, endSignal, elapsedMs }: ShellOutcome, timeoutSeconds: number): string[] {
  if (end === "abort")
    return [`[The user stopped the command and all its processes after ${duration(elapsedMs)}.]`];
  if (end === "timeout") {
    return [
      `[Timed out after ${duration(timeoutSeconds * 1_000)}: the command and all its processes were stopped. Set a larger timeout, or run it in the background with its output in a file.]`,
    ];
  }
  if (endSignal !== undefined) return [`[Ended by signal ${endSignal}.]`];
  return exitCode === 0 ? [] : [`[Exit code ${exitCode ?? "unknown"}.]`];
}
