import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { startTree } from "@bonsai-agent/agent/host";
import { textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { count } from "@bonsai-agent/messages/numbers";
import type { ExecOptions, ExecResult } from "../api/extension-api.ts";

interface ExecProgramOptions extends ExecOptions {
  cwd: string;
}

/** Characters of each stream that are kept: half from its start, half from its end, where errors are. */
const MAX_CHARS = 10 * 1024 * 1024;
/** Time for the last output after a program's end: a process that it left running can keep its output open forever. */
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
    const stderr = error instanceof Error ? error.message : String(error);
    return { stdout: "", stderr, code: 1, killed: false };
  }
}

async function ended(
  { child, kill, forget }: Awaited<ReturnType<typeof startTree>>,
  { signal, timeout }: ExecProgramOptions,
): Promise<ExecResult> {
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const closed = new Promise((resolve) => child.once("close", resolve));
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let killing: Promise<void> | undefined;
  const stop = () => {
    killing ??= kill();
  };
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  const timer = timeout !== undefined && timeout > 0 ? setTimeout(stop, timeout) : undefined;
  const code = await exited;
  clearTimeout(timer);
  signal?.removeEventListener("abort", stop);
  await Promise.all([killing, Promise.race([closed, delay(DRAIN_MS)])]);
  forget();
  return { stdout: stdout(), stderr: stderr(), code: code ?? 1, killed: killing !== undefined };
}

/** Collects the text of a stream. The function returned ends that and returns the text. */
function collect(stream: Readable | null): () => string {
  const text = new BoundedText(MAX_CHARS);
  stream?.setEncoding("utf8").on("data", (piece: string) => text.push(piece));
  return () => {
    // Closing the pipe would end the processes that the program left running at their next line.
    stream?.removeAllListeners("data").resume();
    (stream as { unref?: () => void } | null)?.unref?.();
    return text.toString();
  };
}

/** A text of bounded size: the start and the end of a longer one. */
export class BoundedText {
  readonly #half: number;
  #head = "";
  #tail = "";
  #omittedBytes = 0;

  constructor(maxChars: number) {
    this.#half = maxChars / 2;
  }

  push(piece: string): void {
    const start = this.#tail === "" ? textHead(piece, this.#half - this.#head.length) : "";
    this.#head += start;
    this.#tail += piece.slice(start.length);
    // Rarely, because programs write in small pieces.
    if (this.#tail.length > 2 * this.#half) this.#shorten();
  }

  toString(): string {
    this.#shorten();
    if (this.#omittedBytes === 0) return this.#head + this.#tail;
    return `${this.#head}\n[… ${count(this.#omittedBytes)} bytes omitted …]\n${this.#tail}`;
  }

  #shorten(): void {
    const tail = textTail(this.#tail, this.#half);
    this.#omittedBytes += Buffer.byteLength(this.#tail) - Buffer.byteLength(tail);
    this.#tail = tail;
  }
}
