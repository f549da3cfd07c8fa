import type { RunCommand } from "../run-command.ts";

export interface CommandRunnerOptions {
  cwd: string;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
}

/** Runs what a user types behind `!`, as the bash tool runs a command but without a time limit. */
export function commandRunner(_options: CommandRunnerOptions): RunCommand {
  return async () => ({ output: "", cancelled: false, truncated: false });
}
