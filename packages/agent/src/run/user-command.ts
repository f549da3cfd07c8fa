import { type BashExecutionMessage, BonsaiError } from "@bonsai-agent/messages";
import type { AgentParts } from "../agent-parts.ts";
import { messageOf } from "../notice.ts";
import { environmentKeys, maskKeys } from "../tools/mask-keys.ts";
import { recordMessage } from "./answer.ts";
import { type CommandOutput, commandElsewhere, type RunCommand } from "./run-command.ts";

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
    ...outputOf(ran),
    // An extension can have run it.
    output: maskKeys([...environmentKeys(process.env), ...parts.models.secrets()])(ran.output),
    ...(excludeFromContext ? { excludeFromContext } : {}),
    timestamp: parts.now(),
  };
  return (await recordMessage(parts, message)).message;
}

/** Nothing beside what is stored: an extension may have given more. */
function outputOf({ output, exitCode, cancelled, truncated, fullOutputPath }: CommandOutput): CommandOutput {
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
