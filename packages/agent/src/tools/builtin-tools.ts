import type { ConfirmPath } from "../confirm-path.ts";
import type { Tool } from "../tool.ts";

export interface BuiltinToolsOptions {
  /** The project's folder: where relative paths begin and commands run. */
  cwd: string;
  /** Folders beyond the project that file tools may touch; `~` is the home folder. */
  paths: { allow: readonly string[] };
  /** How long a command may run when the call does not say. */
  bash: { timeoutSeconds: number };
  /** What commands inherit. Default: the environment of this process. */
  env?: NodeJS.ProcessEnv;
  /** Asked before a path outside the project is touched. Without it such paths are refused. */
  confirmPath?: ConfirmPath;
}

/** The tools `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls` for one project. */
export function builtinTools(_options: BuiltinToolsOptions): Tool[] {
  return [];
}
