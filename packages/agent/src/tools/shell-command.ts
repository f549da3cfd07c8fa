import type { ChildProcess } from "node:child_process";
import { stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { raceAbort } from "@bonsai-agent/messages/host";
import { messageOf } from "../notice.ts";
import { OutputRecord, TerminalText } from "./command-output.ts";
import { environmentKeys, maskedText, type NamedSecret } from "./mask-keys.ts";
import { findShell, type ProcessTree, type RunningProcess, startTree } from "./process.ts";
import { shownBytes } from "./result-text.ts";

/** The longest argument on Linux has 128 KB. */
const MAX_COMMAND_BYTES = 120 * 1024;
/** After the command's end: silence of its pipe that ends the reading, and the longest wait for it. */
const QUIET_MS = 50;
const MAX_LINGER_MS = 1_000;

/** Keeps programs from waiting for a user at a terminal. */
const unattended = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GIT_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
  GCM_INTERACTIVE: "never",
  SSH_ASKPASS_REQUIRE: "never",
  DEBIAN_FRONTEND: "noninteractive",
};

export interface ShellCommandOptions {
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Masked in the output, in addition to the keys of `env`. Default: none. */
  secrets?: readonly NamedSecret[];
  /** Absent: no limit. */
  timeoutMs?: number | undefined;
  signal: AbortSignal;
  /** Called with each piece of text, cleaned and without keys. */
  onText?: ((text: string) => void) | undefined;
}

export interface ShellOutcome {
  end: "exit" | "timeout" | "abort";
  /** Absent if a signal ended it. */
  exitCode?: number | undefined;
  endSignal?: NodeJS.Signals | undefined;
  output: OutputRecord;
  isBinary: boolean;
  /** Processes that still run. */
  background: RunningProcess[];
  elapsedMs: number;
}

/** Runs a command to its end, its time limit or the abort. Only its own background processes remain after its end. */
export async function shellCommand(options: ShellCommandOptions): Promise<ShellOutcome> {
  await checkRunnable(options);
  const started = performance.now();
  const tree = await start(options);
  const { child } = tree;
  const text = new TerminalText();
  const output = new OutputRecord();
  const masked = maskedText([...environmentKeys(options.env), ...(options.secrets ?? [])]);
  const take = (cleaned: string) => {
    output.append(cleaned);
    if (cleaned !== "") options.onText?.(cleaned);
  };
  let lastData = started;
  const onData = (bytes: Buffer) => {
    lastData = performance.now();
    take(masked.push(text.push(bytes)));
  };
  child.stdout!.on("data", onData);
  child.stderr!.on("data", onData);
  try {
    const { end, ...exit } = await ended(tree, options);
    await drained(child, () => lastData);
    const background = end === "exit" ? await leftRunning(tree, options.command) : [];
    letGo(child, onData);
    take(masked.push(text.end()) + masked.end());
    const elapsedMs = performance.now() - started;
    return { end, ...exit, output, isBinary: text.isBinary, background, elapsedMs };
  } finally {
    tree.forget();
    output.close();
  }
}

async function checkRunnable({ command, cwd, signal }: ShellCommandOptions): Promise<void> {
  signal.throwIfAborted();
  if (command.includes("\0")) throw new Error("The command contains a NUL character.");
  const bytes = Buffer.byteLength(command);
  if (bytes > MAX_COMMAND_BYTES)
    throw new Error(
      `The command has ${shownBytes(bytes)}; the maximum is ${shownBytes(MAX_COMMAND_BYTES)}. Save it to a file with write and run the file.`,
    );
  const stats = await stat(cwd).catch(() => undefined);
  if (!stats?.isDirectory()) throw new Error(`The working folder ${cwd} no longer exists.`);
}

function start({ command, cwd, env }: ShellCommandOptions): Promise<ProcessTree> {
  const shell = findShell(env);
  // One pipe for both streams keeps their order.
  return startTree({
    command: shell,
    args: ["-c", 'exec "$0" -c "$1" 2>&1', shell, command],
    cwd,
    env: { ...env, ...unattended },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function ended(
  tree: ProcessTree,
  { timeoutMs, signal }: ShellCommandOptions,
): Promise<Pick<ShellOutcome, "end" | "exitCode" | "endSignal">> {
  const { child } = tree;
  return new Promise((resolve, reject) => {
    let end: ShellOutcome["end"] = "exit";
    let killed: Promise<void> | undefined;
    const kill = (why: ShellOutcome["end"]) => {
      if (killed !== undefined) return;
      end = why;
      killed = tree.kill();
      // Settles even if the first process cannot be killed.
      killed.then(() => settle(child.exitCode, child.signalCode), reject);
    };
    const onAbort = () => kill("abort");
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => kill("timeout"), timeoutMs);
    const settle = (code: number | null, endSignal: NodeJS.Signals | null) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve({ end, exitCode: code ?? undefined, endSignal: endSignal ?? undefined });
    };
    signal.addEventListener("abort", onAbort);
    child.once("exit", (code, endSignal) => {
      if (killed === undefined) settle(code, endSignal);
    });
    if (signal.aborted) onAbort();
  });
}

/** Waits for the last output. A background process can keep the pipe open for ever. */
async function drained(child: ChildProcess, lastData: () => number): Promise<void> {
  const since = performance.now();
  const isOpen = () => !child.stdout!.readableEnded || !child.stderr!.readableEnded;
  const isTalking = () => performance.now() - Math.max(since, lastData()) < QUIET_MS;
  while (isOpen() && isTalking() && performance.now() - since < MAX_LINGER_MS) await delay(5);
}

/** Matches `server > log &`: such a process does not use our pipe. */
const STARTS_DETACHED = /(?<![&>|<])&(?![&>])|\b(?:nohup|setsid|disown)\b/;

async function leftRunning(
  { child, processes }: ProcessTree,
  command: string,
): Promise<ShellOutcome["background"]> {
  // If both streams ended, only a command that can leave a process needs a search of all processes.
  const isPipeOpen = !child.stdout!.readableEnded || !child.stderr!.readableEnded;
  if (!isPipeOpen && !STARTS_DETACHED.test(command)) return [];
  const rows = await processes().catch(() => []);
  return rows.map(({ pid, name }) => ({ pid, name }));
}

/** Leaves the pipe open and ignores its data: closing it would end a background process at its next line. */
function letGo(child: ChildProcess, onData: (bytes: Buffer) => void): void {
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.off("data", onData);
    stream.resume();
    (stream as { unref?: () => void }).unref?.();
  }
}

/** Runs commands elsewhere than in the project's shell: on another machine, in a container. */
export interface CommandOperations {
  /**
   * Rejects if the command cannot be run; with the message `aborted` or `timeout:SECONDS` if it was stopped. An exit code
   * of null is unknown.
   */
  exec(
    command: string,
    cwd: string,
    options: {
      onData: (data: Buffer) => void;
      signal: AbortSignal;
      /** Time limit in seconds, enforced by this function. Absent: no limit. */
      timeout?: number;
      env?: NodeJS.ProcessEnv;
    },
  ): Promise<{ exitCode: number | null }>;
}

/** Runs commands with the operations of an extension. Bounds and keeps their output as that of a local command. */
export function shellElsewhere(
  operations: CommandOperations,
): (
  options: Partial<ShellCommandOptions> & Pick<ShellCommandOptions, "command" | "cwd" | "signal">,
) => Promise<ShellOutcome> {
  return async ({ command, cwd, env, timeoutMs, signal, onText }) => {
    const started = performance.now();
    const output = new OutputRecord();
    const text = new TerminalText();
    const take = (plain: string) => {
      output.append(plain);
      if (plain !== "") onText?.(plain);
    };
    let onData = (data: Buffer) => take(text.push(data));
    const exec = async () => {
      const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs / 1_000 };
      const options = {
        ...{ onData: (data: Buffer) => onData(data), signal, ...timeout },
        ...(env && { env: { ...env, ...unattended } }),
      };
      // After an abort, it does not wait for the operations.
      const { exitCode } = await raceAbort(operations.exec(command, cwd, options), signal);
      return { end: "exit" as const, exitCode: exitCode ?? undefined };
    };
    try {
      const ended = await exec().catch((error: unknown) => ({ end: endOf(error, signal) }));
      take(text.end());
      const elapsedMs = performance.now() - started;
      return { ...ended, output, isBinary: text.isBinary, background: [], elapsedMs };
    } finally {
      onData = () => {};
      output.close();
    }
  };
}

/** @throws the error, unless it says how the command ended */
function endOf(error: unknown, signal: AbortSignal): "abort" | "timeout" {
  const message = messageOf(error);
  if (signal.aborted || message === "aborted") return "abort";
  if (message.startsWith("timeout:")) return "timeout";
  throw error;
}
