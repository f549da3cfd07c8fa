import type { RunCommand } from "../run-command.ts";
import { shellCommand } from "./shell-command.ts";

export interface CommandRunnerOptions {
  cwd: string;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
}

/** Runs what a user types behind `!`, as the bash tool runs a command but without a time limit. */
export function commandRunner({ cwd, env = process.env }: CommandRunnerOptions): RunCommand {
  return async ({ command, signal, onOutput }) => {
    const { end, exitCode, output } = await shellCommand({ command, cwd, env, signal, onText: onOutput });
    return {
      output: output.tail,
      exitCode,
      cancelled: end === "abort",
      truncated: output.isLong,
      fullOutputPath: output.path,
    };
  };
}
