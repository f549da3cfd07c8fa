/// <reference path="./cross-spawn.d.ts" />
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { startProcess, startTree } from "@bonsai-agent/agent/host";

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

/** Waits until the process that started it is gone, then ends the group that it is given. */
const guardScript = 'read -r _; sleep 1; kill -s KILL -- "-$0"';

/**
 * Ends the group of a program after this process, should it be killed outright: then it can end nothing itself, and many
 * programs do not mind that their input is closed.
 * @returns what is to be called when the program has ended
 */
async function guardGroup(pid: number | undefined): Promise<() => void> {
  if (pid === undefined || process.platform === "win32") return () => {};
  try {
    const guard = await startProcess({
      command: "/bin/sh",
      args: ["-c", guardScript, String(pid)],
      cwd: "/",
      env: { PATH: process.env.PATH },
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    guard.unref();
    (guard.stdin as Socket).unref();
    return () => void guard.kill("SIGKILL");
  } catch {
    // Without a shell, programs that end with their input end all the same.
    return () => {};
  }
}

/** On Windows, what npm installs (npx itself too) is a script, which only cmd.exe starts: it gets the arguments escaped. */
async function startable({ command, args, cwd, env }: ProgramToStart) {
  if (process.platform !== "win32") return { command, args };
  const { default: crossSpawn } = await import("cross-spawn");
  const { options, ...parsed } = crossSpawn._parse(command, [...args], { cwd, env: { ...env } });
  return { ...parsed, windowsVerbatimArguments: options.windowsVerbatimArguments === true };
}

/**
 * Starts a program, without a shell, that is spoken with while it runs. It ends with this process at the latest, and but
 * on Windows also where that is killed.
 * @throws BonsaiError `process_not_started`
 */
export async function startProgram({ command, args, cwd, env }: ProgramToStart): Promise<RunningProgram> {
  const { child, kill, forget } = await startTree({
    ...(await startable({ command, args, cwd, env })),
    cwd,
    env,
    shell: false,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { pid, stdin, stdout, stderr } = child;
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  // Not waited for: what the program says meanwhile would be lost.
  const guarded = guardGroup(pid);
  let ending: Promise<void> | undefined;
  const end = async () => {
    stdin?.end();
    await Promise.race([ended, delay(CLOSED_INPUT_MS, undefined, { ref: false })]);
    // Also where it has ended by itself: what it started may be left.
    await kill();
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    (await guarded)();
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
