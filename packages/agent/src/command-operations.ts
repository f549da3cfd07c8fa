import { untilAborted } from "./run/linked-signal.ts";
import type { RunCommand } from "./run-command.ts";
import { OutputRecord } from "./tools/output-record.ts";
import { TerminalText } from "./tools/terminal-text.ts";

/** Where a user's command runs instead of in the project's shell: on another machine, in a container. */
export interface CommandOperations {
  /** Rejects where the command cannot be run. An exit code of null is one that nobody knows. */
  exec(
    command: string,
    cwd: string,
    options: { onData: (data: Buffer) => void; signal: AbortSignal },
  ): Promise<{ exitCode: number | null }>;
}

/** Bounds and keeps what comes back as that of a command that runs here. After an abort nothing is waited for. */
export function commandElsewhere(operations: CommandOperations, cwd: string): RunCommand {
  return async ({ command, signal, onOutput }) => {
    const output = new OutputRecord();
    const text = new TerminalText();
    const take = (plain: string) => {
      output.append(plain);
      if (plain !== "") onOutput?.(plain);
    };
    let onData = (data: Buffer) => take(text.push(data));
    try {
      const exitCode = await exitCodeOf(operations, { command, cwd, signal, onData: (data) => onData(data) });
      take(text.end());
      return {
        output: output.tail,
        exitCode,
        cancelled: signal.aborted,
        truncated: output.isLong,
        fullOutputPath: output.path,
      };
    } finally {
      onData = () => {};
      output.close();
    }
  };
}

interface Execution {
  command: string;
  cwd: string;
  signal: AbortSignal;
  onData: (data: Buffer) => void;
}

/** Undefined where nobody knows, or it was stopped before there was one. */
async function exitCodeOf(
  operations: CommandOperations,
  { command, cwd, signal, onData }: Execution,
): Promise<number | undefined> {
  try {
    const running = operations.exec(command, cwd, { onData, signal });
    return (await untilAborted(running, signal)).exitCode ?? undefined;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
