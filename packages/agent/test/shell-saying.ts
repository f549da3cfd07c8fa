import { OutputRecord } from "../src/tools/command-output.ts";
import type { ShellOutcome } from "../src/tools/shell-command.ts";

/** A shell in which every command prints this text and ends well. */
export function shellSaying(text: string): () => Promise<ShellOutcome> {
  return async () => {
    const output = new OutputRecord();
    output.append(text);
    return { end: "exit", exitCode: 0, output, isBinary: false, background: [], elapsedMs: 1 };
  };
}
