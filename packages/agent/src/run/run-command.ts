import type { NamedSecret } from "@bonsai-agent/models";
import { messageOf } from "../notice.ts";
import { OutputRecord, TerminalText } from "../tools/command-output.ts";
import { type ShellCommandOptions, type ShellOutcome, shellCommand } from "../tools/shell-command.ts";
import { untilAborted } from "./activity.ts";

/** A command that the user runs by hand. */
export interface CommandRun {
  /** As it was typed, without the `!`. */
  command: string;
  /** Ends the command and all that it started. */
  signal: AbortSignal;
  /** Called with output as it comes. */
  onOutput?: ((text: string) => void) | undefined;
}

/** How a command went. */
export interface CommandOutput {
  /** What is shown and, but for `!!`, what the model sees: at most as much as the bash tool gives back. */
  output: string;
  /** Absent for a command that was stopped by a signal. */
  exitCode?: number | undefined;
  /** True when it was stopped before its end. */
  cancelled: boolean;
  /** True when `output` is only the end of it. */
  truncated: boolean;
  /** Where all of it is, when it was truncated. */
  fullOutputPath?: string | undefined;
}

/** Runs a shell command in the project, its whole process tree killed on abort. Rejects where it cannot be started. */
export type RunCommand = (run: CommandRun) => Promise<CommandOutput>;

/** Where commands run instead of in the project's shell: on another machine, in a container. */
export interface CommandOperations {
  /**
   * Rejects where the command cannot be run; with the message `aborted`, or `timeout:SECONDS`, where it was ended. An exit
   * code of null is one that nobody knows.
   */
  exec(
    command: string,
    cwd: string,
    options: {
      onData: (data: Buffer) => void;
      signal: AbortSignal;
      /** Seconds; absent: no limit. Kept by whoever runs the command. */
      timeout?: number;
      env?: NodeJS.ProcessEnv;
    },
  ): Promise<{ exitCode: number | null }>;
}

/** A user's command, run elsewhere. */
export function commandElsewhere(operations: CommandOperations, cwd: string): RunCommand {
  const run = shellElsewhere(operations);
  return async ({ command, signal, onOutput }) => {
    const { end, exitCode, output } = await run({ command, cwd, signal, onText: onOutput });
    return outputOf(output, { exitCode, cancelled: end === "abort" });
  };
}

/** Bounds and keeps what comes back as that of a command that runs here. After an abort nothing is waited for. */
export function shellElsewhere(
  operations: CommandOperations,
): (options: Partial<ShellCommandOptions> & CommandPlace) => Promise<ShellOutcome> {
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
      const running = operations.exec(command, cwd, {
        onData: (data) => onData(data),
        signal,
        ...(timeoutMs === undefined ? {} : { timeout: timeoutMs / 1_000 }),
        ...(env && { env }),
      });
      return (await untilAborted(running, signal)).exitCode ?? undefined;
    };
    try {
      const ended = await exec().then(
        (exitCode) => ({ end: "exit" as const, exitCode }),
        (error: unknown) => ({ end: endOf(error, signal) }),
      );
      take(text.end());
      const elapsedMs = performance.now() - started;
      return { ...ended, output, isBinary: text.isBinary, background: [], elapsedMs };
    } finally {
      onData = () => {};
      output.close();
    }
  };
}

type CommandPlace = Pick<ShellCommandOptions, "command" | "cwd" | "signal">;

/** @throws the error, where it is of something else than the command's end */
function endOf(error: unknown, signal: AbortSignal): "abort" | "timeout" {
  const message = messageOf(error);
  if (signal.aborted || message === "aborted") return "abort";
  if (message.startsWith("timeout:")) return "timeout";
  throw error;
}

function outputOf(
  { tail: output, isLong: truncated, path: fullOutputPath }: OutputRecord,
  { exitCode, cancelled }: Pick<CommandOutput, "exitCode" | "cancelled">,
): CommandOutput {
  return { output, exitCode, cancelled, truncated, fullOutputPath };
}

interface CommandRunnerOptions {
  cwd: string;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
  /** What must not stand in outputs, asked at each command. Default: the keys of `env` alone. */
  secrets?: (() => readonly NamedSecret[]) | undefined;
}

/** Runs what a user types behind `!`, as the bash tool runs a command but without a time limit. */
export function commandRunner({
  cwd,
  env = process.env,
  secrets = () => [],
}: CommandRunnerOptions): RunCommand {
  return async ({ command, signal, onOutput }) => {
    const options = { command, cwd, env, signal, secrets: secrets(), onText: onOutput };
    const { end, exitCode, output } = await shellCommand(options);
    return outputOf(output, { exitCode, cancelled: end === "abort" });
  };
}
