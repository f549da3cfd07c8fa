import type { ChildProcess } from "node:child_process";
import { startTree } from "@bonsai-agent/agent/host";
import { count } from "@bonsai-agent/messages/numbers";
import type { ExecOptions, ExecResult } from "../api/extension-api.ts";

interface ExecProgramOptions extends ExecOptions {
  cwd: string;
}

/** Of each stream so much is kept; what is in the middle of more is left out. */
const MOST_BYTES = 10 * 1024 * 1024;
/** Time to end in order. */
const GRACE_MS = 1_000;
/** After the program's end, for what it wrote last: something that it left running may hold its output open for ever. */
const DRAIN_MS = 200;

/** Runs a program, without a shell, in a process group of its own. Never rejects: look at `code` and `killed`. */
export async function execProgram(
  command: string,
  args: readonly string[],
  options: ExecProgramOptions,
): Promise<ExecResult> {
  if (options.signal?.aborted) return { stdout: "", stderr: "", code: 1, killed: true };
  try {
    const tree = await startTree({
      command,
      args,
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      shell: false,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return await ended(tree, options);
  } catch (error) {
    return notStarted(error);
  }
}

function ended(
  { child, forget }: Awaited<ReturnType<typeof startTree>>,
  { signal, timeout }: ExecProgramOptions,
): Promise<ExecResult> {
  return new Promise((resolve) => {
    const stdout = new BoundedText(MOST_BYTES);
    const stderr = new BoundedText(MOST_BYTES);
    child.stdout?.on("data", (bytes: Buffer) => stdout.push(bytes));
    child.stderr?.on("data", (bytes: Buffer) => stderr.push(bytes));
    let killed = false;
    const timers: NodeJS.Timeout[] = [];
    const kill = () => {
      if (killed) return;
      killed = true;
      endGroup(child, "SIGTERM");
      timers.push(setTimeout(() => endGroup(child, "SIGKILL"), GRACE_MS));
    };
    const settle = (code: number) => {
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
      // What was left of the group has had its time.
      if (killed) endGroup(child, "SIGKILL");
      letGo(child);
      forget();
      resolve({ stdout: stdout.end(), stderr: stderr.end(), code, killed });
    };
    signal?.addEventListener("abort", kill, { once: true });
    if (signal?.aborted) kill();
    if (timeout !== undefined && timeout > 0) timers.push(setTimeout(kill, timeout));
    child.once("exit", (code) => {
      const done = () => settle(code ?? 1);
      timers.push(setTimeout(done, DRAIN_MS));
      child.once("close", done);
    });
  });
}

/** What it left running keeps its pipes, read by nobody: closing them would end that at its next line. */
function letGo({ stdout, stderr }: ChildProcess): void {
  for (const stream of [stdout, stderr]) {
    stream?.removeAllListeners("data");
    stream?.resume();
    (stream as { unref?: () => void } | null)?.unref?.();
  }
}

function notStarted(error: unknown): ExecResult {
  return {
    stdout: "",
    stderr: error instanceof Error ? error.message : String(error),
    code: 1,
    killed: false,
  };
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    // On Windows there are no groups.
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch (error) {
    // It has ended by itself, or has taken on other rights.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/** What a program wrote, up to a bound: head and tail of more, for errors stand at the end. */
export class BoundedText {
  readonly #mostBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #leftOutBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  push(bytes: Buffer): void {
    const half = this.#mostBytes / 2;
    const free = Math.max(0, half - this.#headBytes);
    const first = bytes.subarray(0, free);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = bytes.subarray(free);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Not at every piece: most programs write in small ones.
    if (this.#tailBytes > 2 * half) this.#shorten(half);
  }

  /** All of it as text. Bytes that are no UTF-8, also where it was cut, become U+FFFD. */
  end(): string {
    this.#shorten(this.#mostBytes / 2);
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#leftOutBytes === 0) return Buffer.concat([head, tail]).toString("utf8");
    const note = `\n[… ${count(this.#leftOutBytes)} bytes omitted …]\n`;
    return wholeEnd(head) + note + wholeStart(tail);
  }

  #shorten(mostBytes: number): void {
    if (this.#tailBytes <= mostBytes) return;
    const tail = Buffer.concat(this.#tail);
    this.#leftOutBytes += tail.length - mostBytes;
    this.#tail = [tail.subarray(tail.length - mostBytes)];
    this.#tailBytes = mostBytes;
  }
}

/** Without the first bytes of a character whose others are missing. */
function wholeEnd(bytes: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Without the last bytes of a character whose first are missing. */
function wholeStart(bytes: Buffer): string {
  let from = 0;
  while (from < 3 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from).toString("utf8");
}
