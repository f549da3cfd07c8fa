import type { ChildProcess } from "node:child_process";
import type { ToolResult } from "@bonsai-agent/agent";
import { startProcess } from "@bonsai-agent/agent/host";
import { DEFAULT_MAX_BYTES, formatSize, truncateTail } from "./truncate.ts";

/** Where commands run, as extensions of pi give it. */
export interface BashOperations {
  exec(
    command: string,
    cwd: string,
    options: {
      onData(data: Buffer): void;
      signal?: AbortSignal;
      /** Seconds. */
      timeout?: number;
      env?: NodeJS.ProcessEnv;
    },
  ): Promise<{ exitCode: number | null }>;
}

interface BashRun {
  command: string;
  cwd: string;
  /** Seconds. */
  timeout?: number | undefined;
  signal?: AbortSignal | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  onOutput(text: string): void;
}

/** Runs a command through operations; a failed one throws with its output, as tools do. */
export async function runThrough(operations: BashOperations, run: BashRun): Promise<ToolResult> {
  const { command, cwd, onOutput, timeout, signal, env } = run;
  const end = new OutputEnd();
  const { exitCode } = await operations.exec(command, cwd, {
    onData(data) {
      end.push(data);
      onOutput(end.text);
    },
    ...(timeout === undefined ? {} : { timeout }),
    ...(signal === undefined ? {} : { signal }),
    ...(env === undefined ? {} : { env }),
  });
  const output = end.text || "(no output)";
  if (exitCode !== 0) throw new Error(`${output}\n\nThe command ended with code ${exitCode ?? "unknown"}.`);
  return { content: [{ type: "text", text: output }], details: { exitCode } };
}

/** Commands in a shell of this machine. */
export function createLocalBashOperations({
  shellPath = "bash",
}: {
  shellPath?: string;
} = {}): BashOperations {
  return {
    async exec(command, cwd, options) {
      options.signal?.throwIfAborted();
      const child = await startProcess({
        command: shellPath,
        args: ["-c", command],
        cwd,
        env: options.env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      return { exitCode: await ended(child, options) };
    },
  };
}

type ExecOptions = Parameters<BashOperations["exec"]>[2];

function ended(child: ChildProcess, { onData, signal, timeout }: ExecOptions): Promise<number | null> {
  return new Promise((done, failed) => {
    const end = (why: Error) => {
      killGroup(child.pid!);
      failed(why);
    };
    const onAbort = () => end(new Error("The command was aborted."));
    const timer =
      timeout &&
      setTimeout(() => end(new Error(`The command took longer than ${timeout} s.`)), timeout * 1_000);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    child.stdout!.on("data", onData);
    child.stderr!.on("data", onData);
    child.on("close", (exitCode) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      done(exitCode);
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** How much is held; cutting less often than the limit asks for makes it linear. */
const MAX_HELD_CHARS = 2 * DEFAULT_MAX_BYTES;

/** Owner of the end of an output, however long that is. */
export class OutputEnd {
  readonly #decoder = new TextDecoder();
  #held = "";
  #bytes = 0;
  #isCut = false;

  push(data: Uint8Array): void {
    this.#bytes += data.length;
    this.#held += this.#decoder.decode(data, { stream: true });
    if (this.#held.length <= MAX_HELD_CHARS) return;
    this.#held = truncateTail(this.#held).content;
    this.#isCut = true;
  }

  /** What a model may be shown of it. */
  get text(): string {
    const { content, truncated } = truncateTail(this.#held);
    if (!truncated && !this.#isCut) return content;
    return `[The last part of ${formatSize(this.#bytes)} of output]\n${content}`;
  }
}
