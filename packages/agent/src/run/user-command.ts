import { type BashExecutionMessage, BonsaiError } from "@bonsai-agent/messages";
import type { CommandOutput } from "../events.ts";
import { messageOf } from "../notice.ts";
import { environmentKeys, maskKeys } from "../tools/mask-keys.ts";
import { type ShellOutcome, shellElsewhere } from "../tools/shell-command.ts";
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
  command: string,
  { excludeFromContext = false, signal = new AbortController().signal, onOutput }: UserCommandOptions,
): Promise<BashExecutionMessage> {
  const { cwd, shell } = parts;
  const asked = { type: "user_bash" as const, command, excludeFromContext, cwd };
  const { result } = await parts.events.decide("user_bash", asked, { signal });
  if (result?.block)
    throw blocked(command, signal.aborted ? "you stopped it before it began." : result.reason);
  const { operations } = result ?? {};
  const secrets = parts.models.secrets();
  const run = async () => {
    const options = { command, cwd, signal, onText: onOutput };
    if (operations) return outputOf(await shellElsewhere(operations)(options));
    return outputOf(await shell({ ...options, env: process.env, secrets }));
  };
  const ran = result?.result ?? (await started(command, run));
  const { exitCode, cancelled, truncated, fullOutputPath } = ran;
  const message: BashExecutionMessage = {
    ...{ role: "bashExecution", command },
    // An extension may have run it.
    output: maskKeys([...environmentKeys(process.env), ...secrets])(ran.output),
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

/** The stored output of a command. */
function outputOf({ end, exitCode, output }: ShellOutcome): CommandOutput {
  const { tail, isLong: truncated, path: fullOutputPath } = output;
  return { output: tail, exitCode, cancelled: end === "abort", truncated, fullOutputPath };
}
