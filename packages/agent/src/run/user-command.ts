import { type BashExecutionMessage, BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import type { CommandOperations, CommandOutput, RunCommand } from "../events.ts";
import { messageOf } from "../notice.ts";
import { OutputRecord, TerminalText } from "../tools/command-output.ts";
import { environmentKeys, maskKeys, type NamedSecret } from "../tools/mask-keys.ts";
import { type ShellCommandOptions, type ShellOutcome, shellCommand } from "../tools/shell-command.ts";
import type { AgentParts } from "./agent-parts.ts";
import { recordMessage } from "./answer.ts";

export interface UserCommandOptions {
  /** True for `!!`: the model never sees it. Default false. */
  excludeFromContext?: boolean;
  /** Ends the command and its processes. */
  signal?: AbortSignal;
  /** Called with each piece of output. */
  onOutput?: (text: string) => void;
}

/**
 * Runs a command that the user typed after `!`, and stores it with its output. An extension can run it, or say where.
 * @throws BonsaiError `command_blocked` if an extension refused it, `command_failed` if it did not start
 */
export async function runUserCommand(
  parts: AgentParts,
  runCommand: RunCommand,
  command: string,
  { excludeFromContext = false, signal = new AbortController().signal, onOutput }: UserCommandOptions,
): Promise<BashExecutionMessage> {
  const { cwd } = parts.session;
  const asked = { type: "user_bash" as const, command, excludeFromContext, cwd };
  const { result } = await parts.events.decide("user_bash", asked, { signal });
  if (result?.block)
    throw blocked(command, signal.aborted ? "you stopped it before it began." : result.reason);
  const { operations } = result ?? {};
  const run = async () =>
    operations
      ? outputOf(await shellElsewhere(operations)({ command, cwd, signal, onText: onOutput }))
      : runCommand({ command, signal, onOutput });
  const ran = result?.result ?? (await started(command, run));
  const { exitCode, cancelled, truncated, fullOutputPath } = ran;
  const message: BashExecutionMessage = {
    ...{ role: "bashExecution", command },
    // An extension may have run it.
    output: maskKeys([...environmentKeys(process.env), ...parts.models.secrets()])(ran.output),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...{ cancelled, truncated },
    ...(fullOutputPath === undefined ? {} : { fullOutputPath }),
    ...(excludeFromContext ? { excludeFromContext } : {}),
    timestamp: parts.now(),
  };
  return (await recordMessage(parts, message)).message;
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
      const options = { onData: (data: Buffer) => onData(data), signal, ...timeout, ...(env && { env }) };
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

/** The stored output of a command. */
function outputOf({ end, exitCode, output }: ShellOutcome): CommandOutput {
  const { tail, isLong: truncated, path: fullOutputPath } = output;
  return { output: tail, exitCode, cancelled: end === "abort", truncated, fullOutputPath };
}

/**
 * Runs commands of the user as the bash tool does, but without a time limit.
 * @param secrets masked in outputs; called at each command
 */
export function commandRunner(
  cwd: string,
  secrets: () => readonly NamedSecret[] = () => [],
  env: NodeJS.ProcessEnv = process.env,
): RunCommand {
  return async ({ command, signal, onOutput }) =>
    outputOf(await shellCommand({ command, cwd, env, signal, secrets: secrets(), onText: onOutput }));
}
