/// <reference path="./cross-spawn.d.ts" />
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { startProcess, startTree } from "@bonsai-agent/agent/host";

export interface ProgramToStart {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** A running program, in a process group of its own. */
export interface RunningProgram {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves at its end with its exit code, or null after a signal. */
  readonly ended: Promise<number | null>;
  /**
   * Ends it and all processes that it started: closes its input, after half a second sends SIGTERM, a second later
   * SIGKILL. A second call waits for the same end.
   */
  end(): Promise<void>;
}

/** Time to end after its input was closed. */
const CLOSED_INPUT_MS = 500;

/** Waits for the end of the parent process, then ends the group. */
const guardScript = 'read -r _; sleep 1; kill -s KILL -- "-$0"';

/**
 * Ends a program's group if this process is killed, because many programs ignore a closed input.
 * @returns a function to call when the program has ended
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
    // Without a shell, programs end only with their input.
    return () => {};
  }
}

/** On Windows, programs of npm (npx too) are scripts for cmd.exe, with escaped arguments. */
async function startable({ command, args, cwd, env }: ProgramToStart) {
  if (process.platform !== "win32") return { command, args };
  const { default: crossSpawn } = await import("cross-spawn");
  const { options, ...parsed } = crossSpawn._parse(command, [...args], { cwd, env: { ...env } });
  return { ...parsed, windowsVerbatimArguments: options.windowsVerbatimArguments === true };
}

/**
 * Starts a program, without a shell, to talk to while it runs. It ends with this process at the latest; on Windows, not
 * if this process is killed.
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
  // Not awaited, so that no output is lost.
  const guarded = guardGroup(pid);
  let ending: Promise<void> | undefined;
  const end = async () => {
    stdin?.end();
    await Promise.race([ended, delay(CLOSED_INPUT_MS, undefined, { ref: false })]);
    // Always: its children may still run.
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
