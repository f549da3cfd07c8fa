import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { BonsaiError } from "@bonsai-agent/messages";

export interface OutStream {
  /** False: the writer should wait for `drain`. */
  write(text: string): unknown;
  once?(event: "drain" | "error" | "close", listener: () => void): unknown;
  removeListener?(event: "drain" | "error" | "close", listener: () => void): unknown;
  readonly isTTY?: boolean | undefined;
  /** Undefined for a file or a pipe. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface InStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean | undefined;
  /** Ends the reading: an open pipe would keep the process alive. */
  destroy?(): unknown;
}

/** The command's input, output and environment. Files are used directly. */
export interface CliIo {
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  /** Undefined for `/dev/null`. */
  readonly stdin: InStream | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute: the base of relative paths. */
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Runs work that Ctrl-C or SIGTERM interrupts: it aborts the signal.
   * @param atOnce called if a second signal kills the process
   */
  interruptible<T>(work: (signal: AbortSignal) => Promise<T>, atOnce?: () => void): Promise<T>;
}

/** True for a terminal with keys and a movable cursor. */
export function isInteractiveTerminal({
  stdin,
  stdout,
  env,
}: Pick<CliIo, "stdin" | "stdout" | "env">): boolean {
  return stdin?.isTTY === true && stdout.isTTY === true && env.TERM !== "dumb";
}

export function processIo(): CliIo {
  let cwd: string | undefined;
  return {
    stdout: standardOutput(),
    stderr: process.stderr,
    get stdin() {
      return standardInput();
    },
    env: process.env,
    // Read once: an extension may change the process's folder.
    get cwd() {
      cwd ??= workingFolder();
      return cwd;
    },
    now: Date.now,
    interruptible: interruptibleBySignals,
  };
}

/** Called late, because much works without a folder. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new BonsaiError({
      code: "working_folder_gone",
      message: "The shell's current folder no longer exists.",
      hint: "Change to another folder (`cd`) and run the command again.",
      cause,
    });
  }
}

/** Keeps the current `write`: extensions later get another one. */
function standardOutput(): OutStream {
  const { stdout } = process;
  const write = stdout.write.bind(stdout);
  return {
    write: (text) => write(text),
    once: (event, listener) => stdout.once(event, listener),
    removeListener: (event, listener) => stdout.removeListener(event, listener),
    get isTTY() {
      return stdout.isTTY;
    },
    get columns() {
      return stdout.columns;
    },
    get rows() {
      return stdout.rows;
    },
  };
}

/** Creates the stream when it is first read. */
function standardInput(): InStream | undefined {
  const isTTY = isatty(0);
  if (!isTTY && fstatSync(0).isCharacterDevice()) return undefined;
  return {
    isTTY,
    [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
    destroy: () => process.stdin.destroy(),
  };
}

const interrupting = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const aliveMs = 2 ** 31 - 1;

const running = new Set<AbortController>();

/**
 * The first signal interrupts, the second one kills. One handler does both, so that no signal gets lost between
 * two.
 */
async function interruptibleBySignals<T>(
  work: (signal: AbortSignal) => Promise<T>,
  atOnce: () => void = () => {},
): Promise<T> {
  const controller = new AbortController();
  let isInterrupted = false;
  const letGo = () => {
    for (const name of interrupting) process.removeListener(name, interrupt);
  };
  const interrupt = (name: NodeJS.Signals) => {
    if (isInterrupted) {
      letGo();
      try {
        atOnce();
      } finally {
        process.kill(process.pid, name);
      }
      return;
    }
    isInterrupted = true;
    controller.abort(new Error(name === "SIGINT" ? "Interrupted by Ctrl-C" : `Stopped by ${name}`));
  };
  for (const name of interrupting) process.on(name, interrupt);
  running.add(controller);
  // Without a timer, the process would end silently if an extension's promise never settles.
  const alive = setInterval(() => {}, aliveMs);
  try {
    return await work(controller.signal);
  } finally {
    clearInterval(alive);
    running.delete(controller);
    letGo();
  }
}

/** Interrupts the running work. Returns false if there is none. */
export function interruptRunning(reason: string): boolean {
  for (const controller of running) controller.abort(new Error(reason));
  return running.size > 0;
}
