import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { BonsaiError } from "@bonsai-agent/messages";

/** What a start opens for its pipes, and one or two more. */
const FILES_OF_A_START = 10;

export interface ProcessToStart extends SpawnOptions {
  command: string;
  args: readonly string[];
}

/** Why the system starts no process, and what can be done. */
const refusals: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EMFILE: [
    "this process has too many files open",
    "Try again with fewer commands at once; `ulimit -n` shows the limit and raises it.",
  ],
  ENFILE: ["too many files are open on this machine", "Try again when other programs have ended."],
  EAGAIN: [
    "there are as many processes as the system allows",
    "Try again when some have ended; `ulimit -u` shows the limit.",
  ],
  ENOMEM: ["there is no memory for another process", "Try again when other programs have ended."],
  ENOENT: ["there is no such program", "Install it, or check the PATH."],
  EACCES: ["it may not be run", "Check the rights of the program and of the working folder."],
  EPERM: ["the system does not permit it", "Check the rights of the program and of the working folder."],
  E2BIG: [
    "its arguments and the environment are longer than the system takes",
    "Write what is long to a file, and name that.",
  ],
  ENOEXEC: ["it is no program for this machine", "Install the one for this machine."],
  ENOTDIR: ["a part of its path is a file, not a folder", "Check the PATH and the working folder."],
};

/**
 * Starts a process: the one place that does. It has started when this resolves, and no error of its streams, or of
 * ending it, can end this process.
 * @throws BonsaiError `process_not_started`, whatever the system has against it; the `cause` has its code
 */
export async function startProcess({ command, args, ...options }: ProcessToStart): Promise<ChildProcess> {
  try {
    requireFiles();
    const child = spawn(command, args, options);
    // Without a listener, an error ends the process: of a pipe that nobody reads, of a signal that nobody takes.
    for (const source of [child, child.stdin, child.stdout, child.stderr]) source?.on("error", () => {});
    await once(child, "spawn");
    return child;
  } catch (cause) {
    throw notStarted(command, { cause, cwd: options.cwd });
  }
}

/** A start that breaks off in the middle for want of files never gives back those that it has opened. */
function requireFiles(): void {
  const opened: number[] = [];
  try {
    while (opened.length < FILES_OF_A_START) opened.push(openSync(devNull, "r"));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function notStarted(
  command: string,
  { cause, cwd }: { cause: unknown; cwd: SpawnOptions["cwd"] },
): BonsaiError {
  const code = (cause as NodeJS.ErrnoException).code ?? "";
  const [why, hint] =
    code === "ENOENT" && cwd !== undefined && !existsSync(cwd)
      ? [`its working folder ${String(cwd)} does not exist`, "Start where there is one."]
      : (refusals[code] ?? [(cause as Error).message, "Mend what the message names, and try again."]);
  return new BonsaiError({
    code: "process_not_started",
    message: `${command} could not be started: ${why}${refusals[code] === undefined ? "" : ` (${code})`}.`,
    hint,
    cause,
  });
}
