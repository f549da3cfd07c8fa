import type { ChildProcess } from "node:child_process";
import type { ToolResult } from "@bonsai-agent/agent";
import { startProcess } from "@bonsai-agent/agent/host";
import { DEFAULT_MAX_BYTES, formatSize, type TruncationResult, truncateTail } from "./truncate.ts";

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
  const options = {
    onData(data: Buffer) {
      end.push(data);
      onOutput(end.text);
    },
    ...(timeout === undefined ? {} : { timeout }),
    ...(signal === undefined ? {} : { signal }),
    ...(env === undefined ? {} : { env }),
  };
  const failure = (why: string, cause?: unknown) =>
    new Error([end.text, why].filter((part) => part !== "").join("\n\n"), { cause });
  const { exitCode } = await operations.exec(command, cwd, options).catch((error: unknown) => {
    throw failure(whyEnded(error), error);
  });
  if (exitCode !== 0) throw failure(`The command exited with code ${exitCode ?? "unknown"}.`);
  const { truncation } = end;
  const details = { exitCode, ...(truncation.truncated ? { truncation } : {}) };
  return { content: [{ type: "text", text: end.text || "(no output)" }], details };
}

/** Operations of pi reject with these words where a command did not end by itself. */
function whyEnded(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, seconds] = /^timeout:(.+)$/.exec(message) ?? [];
  if (seconds !== undefined) return `The command timed out after ${seconds} seconds.`;
  return message === "aborted" ? "The command was aborted." : message;
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
    const end = (why: string) => {
      killGroup(child.pid!);
      failed(new Error(why));
    };
    const onAbort = () => end("aborted");
    const timer = timeout && setTimeout(() => end(`timeout:${timeout}`), timeout * 1_000);
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
  #newlines = 0;
  #isCut = false;

  push(data: Uint8Array): void {
    this.#bytes += data.length;
    const text = this.#decoder.decode(data, { stream: true });
    this.#newlines += text.split("\n").length - 1;
    this.#held += text;
    if (this.#held.length <= MAX_HELD_CHARS) return;
    this.#held = truncateTail(this.#held).content;
    this.#isCut = true;
  }

  get truncation(): TruncationResult {
    const held = truncateTail(this.#held);
    if (!this.#isCut) return held;
    const truncatedBy = held.truncatedBy ?? "bytes";
    return { ...held, truncated: true, truncatedBy, totalLines: this.#newlines + 1, totalBytes: this.#bytes };
  }

  /** What a model may be shown of it. */
  get text(): string {
    const { content, truncated } = this.truncation;
    if (!truncated) return content;
    return `[The last part of ${formatSize(this.#bytes)} of output]\n${content}`;
  }
}
