import type { NamedSecret } from "@bonsai-agent/models/host";
import { bashTool } from "./bash-tool.ts";
import { editTool } from "./files/edit-tool.ts";
import { readTool } from "./files/read-tool.ts";
import { writeTool } from "./files/write-tool.ts";
import { lsTool } from "./ls-tool.ts";
import { type ConfirmPath, pathGuard } from "./path-guard.ts";
import { findTool } from "./search/find-tool.ts";
import { grepTool } from "./search/grep-tool.ts";
import type { Tool } from "./tool-registry.ts";

export interface BuiltinToolsOptions {
  /** The project's folder: where relative paths begin and commands run. */
  cwd: string;
  /** Folders beyond the project that file tools may touch; `~` is the home folder. */
  paths: { allow: readonly string[] };
  /** Files and folders beyond the project that may be read, not changed; asked at each call. Default: none. */
  readable?: () => readonly string[];
  /** How long a command may run when the call does not say; 0 for no limit. */
  bash: { timeoutSeconds: number };
  /** Environment of commands. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Masked in outputs of commands, called at each. Default: only the keys of `env`. */
  secrets?: () => readonly NamedSecret[];
  /** Asked before a path outside the project is touched. Without it such paths are refused. */
  confirmPath?: ConfirmPath | undefined;
}

/** The tools `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls` for one project. */
export function builtinTools({
  cwd,
  paths,
  readable = () => [],
  bash,
  env = process.env,
  secrets,
  confirmPath,
}: BuiltinToolsOptions): Tool[] {
  const guard = pathGuard({ cwd, allow: paths.allow, readable, confirmPath });
  return [
    readTool(guard),
    writeTool(guard),
    editTool(guard),
    bashTool({ cwd, env, secrets, timeoutSeconds: bash.timeoutSeconds }),
    grepTool(guard, env),
    findTool(guard),
    lsTool(guard),
  ];
}
