import { existsSync } from "node:fs";

/** The shell that runs commands, and what stands before one. */
export function getShellConfig(shellPath?: string): { shell: string; args: string[] } {
  const known = existsSync("/bin/bash") ? "/bin/bash" : "bash";
  return { shell: shellPath ?? known, args: ["-c"] };
}
