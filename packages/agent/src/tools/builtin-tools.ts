import { bashTool } from "./bash-tool.ts";
import { editTool } from "./files/edit-tool.ts";
import type { EditorFiles } from "./files/open-file.ts";
import { readTool } from "./files/read-tool.ts";
import { writeTool } from "./files/write-tool.ts";
import { lsTool } from "./ls-tool.ts";
import type { NamedSecret } from "./mask-keys.ts";
import { type ConfirmPath, pathGuard } from "./path-guard.ts";
import { findTool } from "./search/find-tool.ts";
import { grepTool } from "./search/grep-tool.ts";
import { type CommandOperations, shellElsewhere } from "./shell-command.ts";
import type { Tool } from "./tool-registry.ts";

export interface BuiltinToolsOptions {
  /** The project: relative paths begin here, and commands run here. */
  cwd: string;
  /** Folders outside the project that file tools may change; `~` is the home folder. */
  paths: { allow: readonly string[] };
  /** Files and folders outside the project that file tools may read; called at each use. Default: none. */
  readable?: () => readonly string[];
  /** Default time limit of a command, 0 for no limit; and where commands run. Default: a shell of this machine. */
  bash: { timeoutSeconds: number; operations?: CommandOperations | undefined };
  /** Environment of commands. Default: the environment of this process. */
  env?: NodeJS.ProcessEnv;
  /** Masked in outputs of commands; called at each command. Default: only the keys of `env`. */
  secrets?: () => readonly NamedSecret[];
  /** Reads and writes text files. Default: the disk. */
  editor?: EditorFiles | undefined;
  /** Asks about other paths outside the project. Default: refuses them. */
  confirmPath?: ConfirmPath | undefined;
}

/** The tools `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls` for one project. */
export function builtinTools(options: BuiltinToolsOptions): Tool[] {
  const { cwd, paths, readable = () => [], bash, env = process.env, secrets, editor, confirmPath } = options;
  const guard = pathGuard({ cwd, allow: paths.allow, readable, confirmPath });
  return [
    readTool(guard, editor),
    writeTool(guard, editor),
    editTool(guard, editor),
    bashTool({
      ...{ cwd, env, secrets, timeoutSeconds: bash.timeoutSeconds },
      run: bash.operations && shellElsewhere(bash.operations),
    }),
    grepTool(guard, env),
    findTool(guard),
    lsTool(guard),
  ];
}
