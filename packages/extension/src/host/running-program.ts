import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { killTree, PROCESS_MARK, runningCommand, startProcess } from "@bonsai-agent/agent/host";

/** A program that is to run beside the session. */
export interface ProgramToStart {
  command: string;
  args: readonly string[];
  cwd: string;
  /** All of its environment. */
  env: Readonly<Record<string, string | undefined>>;
}

/** A program that runs, in a process group of its own. */
export interface RunningProgram {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves once it has ended: with its exit code, null where a signal ended it. */
  readonly ended: Promise<number | null>;
  /**
   * Ends it with all that it started: its input is closed first, after half a second it is asked, a second later it is
   * forced. A second call waits for the same end.
   */
  end(): Promise<void>;
}

/** Time to end by itself once its input is closed. */
const CLOSED_INPUT_MS = 500;

/**
 * Starts a program, without a shell, that is spoken with while it runs. It ends with this process at the latest.
 * @throws BonsaiError `process_not_started`
 */
export async function startProgram({ command, args, cwd, env }: ProgramToStart): Promise<RunningProgram> {
  const mark = randomUUID();
  const child = await startProcess({
    command,
    args,
    cwd,
    env: { ...env, [PROCESS_MARK]: mark },
    shell: false,
    detached: process.platform !== "win32",
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  const { pid, stdin, stdout, stderr } = child;
  const forget = runningCommand(pid);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let ending: Promise<void> | undefined;
  const end = async () => {
    stdin?.end();
    await Promise.race([ended, delay(CLOSED_INPUT_MS, undefined, { ref: false })]);
    // Also where it has ended by itself: what it started may be left.
    if (pid !== undefined) await killTree({ pid, mark });
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    forget();
  };
  return {
    pid,
    stdin: stdin!,
    stdout: stdout!,
    stderr: stderr!,
    ended,
    end: () => {
      ending ??= end();
      return ending;
    },
  };
}
