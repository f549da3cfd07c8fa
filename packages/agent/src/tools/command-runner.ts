import type { NamedSecret } from "@bonsai-agent/models";
import type { RunCommand } from "../run-command.ts";
import { shellCommand } from "./shell-command.ts";

export interface CommandRunnerOptions {
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
    const { end, exitCode, output } = await shellCommand({
      ...{ command, cwd, env, signal },
      secrets: secrets(),
      onText: onOutput,
    });
    return {
      output: output.tail,
      exitCode,
      cancelled: end === "abort",
      truncated: output.isLong,
      fullOutputPath: output.path,
    };
  };
}
