import type { ExecOptions, ExecResult } from "../api/exec.ts";

export interface ExecProgramOptions extends ExecOptions {
  cwd: string;
}

/** Runs a program, without a shell. Never rejects: look at `code`. */
export async function execProgram(
  _command: string,
  _args: readonly string[],
  _options: ExecProgramOptions,
): Promise<ExecResult> {
  throw new Error("Not built yet.");
}
