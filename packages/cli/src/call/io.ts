import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { BonsaiError } from "@bonsai-agent/messages";

/** The part of a stream that the CLI writes to. */
export interface OutStream {
  /** `false`: so much waits to be written that the writer should wait for `drain`. */
  write(text: string): unknown;
  once?(event: "drain" | "error" | "close", listener: () => void): unknown;
  removeListener?(event: "drain" | "error" | "close", listener: () => void): unknown;
  readonly isTTY?: boolean | undefined;
  /** Width of the terminal; absent for a file or a pipe. */
  readonly columns?: number | undefined;
}

/** The part of a stream that the CLI reads from. */
export interface InStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean | undefined;
  /** Ends the reading, so that an open pipe does not keep the process alive. */
  destroy?(): unknown;
}

/** Everything of the outside world that the CLI touches besides files. */
export interface CliIo {
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  /** Undefined where nothing can come: `/dev/null`, a closed descriptor. */
  readonly stdin: InStream | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute folder that relative paths start from. */
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Runs work that Ctrl-C (or SIGTERM) cancels in good order: its signal is aborted instead of the process being killed.
   * @param atOnce called when a second signal ends the process at once, to end what would survive it
   */
  interruptible<T>(work: (signal: AbortSignal) => Promise<T>, atOnce?: () => void): Promise<T>;
}

/** True for a terminal with keys and a screen on which the cursor can move. */
export function isInteractiveTerminal({
  stdin,
  stdout,
  env,
}: Pick<CliIo, "stdin" | "stdout" | "env">): boolean {
  return stdin?.isTTY === true && stdout.isTTY === true && env.TERM !== "dumb";
}

/** The process this runs in. */
export function processIo(): CliIo {
  let cwd: string | undefined;
  return {
    stdout: standardOutput(),
    stderr: process.stderr,
    get stdin() {
      return standardInput();
    },
    env: process.env,
    // Once: wherever an extension goes, the call stays where it was made.
    get cwd() {
      cwd ??= workingFolder();
      return cwd;
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
      message: "The shell's current folder no longer exists.",
      hint: "Change to another folder (`cd`) and run the command again.",
      cause,
    });
  }
}

/** With the `write` of now: what extensions write goes elsewhere later. */
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
  };
}

/** The stream itself is made when somebody reads. */
function standardInput(): InStream | undefined {
  const isTTY = isatty(0);
  if (!isTTY && !canBeRead()) return undefined;
  return {
    isTTY,
    [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
    destroy: () => process.stdin.destroy(),
  };
}

function canBeRead(): boolean {
  try {
    return !fstatSync(0).isCharacterDevice();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EBADF") return false;
    throw error;
  }
}

const interrupting = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The longest that a timer waits. */
const aliveMs = 2 ** 31 - 1;

/** What runs now and can be interrupted. */
const running = new Set<AbortController>();

/**
 * The handlers stand only while the work runs. The first signal interrupts, the second one kills, whichever it is. One
 * handler for both: between the end of one and the beginning of another a signal would get lost.
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
      killItself(name, atOnce);
      return;
    }
    isInterrupted = true;
    controller.abort(new Error(name === "SIGINT" ? "Interrupted by Ctrl-C" : `Stopped by ${name}`));
  };
  for (const name of interrupting) process.on(name, interrupt);
  running.add(controller);
  // Without it, the process would end in the middle of what never comes, of an extension for instance, without a word.
  const alive = setInterval(() => {}, aliveMs);
  try {
    return await work(controller.signal);
  } finally {
    clearInterval(alive);
    running.delete(controller);
    letGo();
  }
}

function killItself(name: NodeJS.Signals, atOnce: () => void): void {
  try {
    atOnce();
  } finally {
    process.kill(process.pid, name);
  }
}

/** Interrupts what runs, as a signal does; false where nothing does. */
export function interruptRunning(reason: string): boolean {
  for (const controller of running) controller.abort(new Error(reason));
  return running.size > 0;
}
