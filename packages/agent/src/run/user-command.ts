import { type BashExecutionMessage, BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import type { NamedSecret } from "@bonsai-agent/models/host";
import type { CommandOperations, CommandOutput, RunCommand } from "../events.ts";
import { messageOf } from "../notice.ts";
import { OutputRecord, TerminalText } from "../tools/command-output.ts";
import { environmentKeys, maskKeys } from "../tools/mask-keys.ts";
import { type ShellCommandOptions, type ShellOutcome, shellCommand } from "../tools/shell-command.ts";
import type { AgentParts } from "./agent-parts.ts";
import { recordMessage } from "./answer.ts";

/** How a command of the user is run. */
export interface UserCommandOptions {
  /** True for `!!`: the model never sees it. Default false. */
  excludeFromContext?: boolean;
  /** Ends the command and all that it started. */
  signal?: AbortSignal;
  /** Called with output as it comes. */
  onOutput?: (text: string) => void;
}

/**
 * Runs what the user typed behind `!`, unless an extension has run it or says where, and stores it with its output.
 * @throws BonsaiError `command_blocked` when an extension refused it, `command_failed` when it could not be started.
 */
export async function runUserCommand(
  { parts, runCommand }: { parts: AgentParts; runCommand: RunCommand },
  command: string,
  { excludeFromContext = false, signal = new AbortController().signal, onOutput }: UserCommandOptions,
): Promise<BashExecutionMessage> {
  const { cwd } = parts.session;
  const asked = { type: "user_bash" as const, command, excludeFromContext, cwd };
  const { result } = await parts.events.decide("user_bash", asked, { signal });
  if (result?.block)
    throw blocked(command, signal.aborted ? "you stopped it before it began." : result.reason);
  const run = result?.operations ? commandElsewhere(result.operations, cwd) : runCommand;
  const ran = result?.result ?? (await started(command, () => run({ command, signal, onOutput })));
  const message: BashExecutionMessage = {
    role: "bashExecution",
    command,
    ...storedOutput(ran),
    // An extension can have run it.
    output: maskKeys([...environmentKeys(process.env), ...parts.models.secrets()])(ran.output),
    ...(excludeFromContext ? { excludeFromContext } : {}),
    timestamp: parts.now(),
  };
  return (await recordMessage(parts, message)).message;
}

/** Nothing beside what is stored: an extension may have given more. */
function storedOutput({
  output,
  exitCode,
  cancelled,
  truncated,
  fullOutputPath,
}: CommandOutput): CommandOutput {
  return {
    output,
    ...(exitCode === undefined ? {} : { exitCode }),
    cancelled,
    truncated,
    ...(fullOutputPath === undefined ? {} : { fullOutputPath }),
  };
}

async function started<Result>(command: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (cause) {
    if (BonsaiError.is(cause)) throw cause;
    throw new BonsaiError({
      code: "command_failed",
      message: `Cannot run the command ${JSON.stringify(command)}: ${messageOf(cause)}`,
      hint: "Check that a shell is installed and that the project's folder exists.",
      cause,
    });
  }
}

function blocked(command: string, reason = "an extension refused it."): BonsaiError {
  return new BonsaiError({
    code: "command_blocked",
    message: `The command ${JSON.stringify(command)} was not run: ${reason}`,
    hint: "Change the command, or unload the extension that blocks it.",
  });
}

/** A user's command, run elsewhere. */
function commandElsewhere(operations: CommandOperations, cwd: string): RunCommand {
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
      return (await raceAbort(running, signal)).exitCode ?? undefined;
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
  /** Masked in outputs, called at each command. Default: only the keys of `env`. */
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
