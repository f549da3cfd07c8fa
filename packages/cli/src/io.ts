import { BonsaiError } from "@bonsai-agent/messages";

/** The part of a stream that the CLI writes to. */
export interface OutStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  /** Width of the terminal; absent for a file or a pipe. */
  readonly columns?: number | undefined;
}

/** Everything of the outside world that the CLI touches besides files. */
export interface CliIo {
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute folder that relative paths start from. */
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs work that Ctrl-C (or SIGTERM) cancels in good order: its signal is aborted instead of the process being killed. */
  interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** The process this runs in. */
export function processIo(): CliIo {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    get cwd() {
      return workingFolder();
    },
    now: Date.now,
    interruptible: interruptibleBySignals,
  };
}

/** Asked for when it is needed: much works without it. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new BonsaiError({
      code: "working_folder_gone",
      message: "The folder that this shell stands in does not exist any more.",
      hint: "Go to another folder (`cd`) and run the command again.",
      cause,
    });
  }
}

const interrupting = ["SIGINT", "SIGTERM"] as const;

/** The handlers stand only while the work runs, and once: the second Ctrl-C kills. */
async function interruptibleBySignals<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = (name: NodeJS.Signals) => {
    controller.abort(new Error(name === "SIGINT" ? "Interrupted by Ctrl-C" : `Ended by ${name}`));
  };
  for (const name of interrupting) process.once(name, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of interrupting) process.removeListener(name, interrupt);
  }
}
