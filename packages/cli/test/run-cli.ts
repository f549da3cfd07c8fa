import { PassThrough, Readable } from "node:stream";
import type { InStream } from "../src/call/io.ts";
import { run } from "../src/program.ts";
import { nowMs } from "./call/agent-project.ts";

export interface CliRun {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunCliOptions {
  /** Width of the terminal; without it the output is a pipe. */
  columns?: number;
  env?: Record<string, string>;
  cwd?: string;
  /** What is piped in; without it, nothing is. */
  stdin?: string | AsyncIterable<string | Uint8Array>;
  /** Somebody sits at a terminal and types this; then nothing more comes, and the input stays open. */
  typed?: string;
  /** Told of each piece that is printed, on either stream. */
  onOutput?: (text: string) => void;
  /** Aborts interruptible work, as Ctrl-C does. */
  signal?: AbortSignal;
}

export { nowMs } from "./call/agent-project.ts";

/** Runs the CLI in this process and catches what it prints. */
export async function runCli(argv: readonly string[], options: RunCliOptions = {}): Promise<CliRun> {
  let stdout = "";
  let stderr = "";
  const terminal = options.columns === undefined ? {} : { isTTY: true, columns: options.columns };
  const code = await run(argv, {
    stdout: {
      ...terminal,
      write: (text) => {
        stdout += text;
        options.onOutput?.(text);
      },
    },
    stderr: {
      ...(options.typed === undefined ? {} : { isTTY: true }),
      write: (text) => {
        stderr += text;
        options.onOutput?.(text);
      },
    },
    stdin: options.typed === undefined ? stdinOf(options.stdin) : typedStdin(options.typed),
    env: { NO_COLOR: "1", BONSAI_HOME: "/nonexistent/bonsai-home", ...options.env },
    cwd: options.cwd ?? process.cwd(),
    now: () => nowMs,
    interruptible: (work) => work(options.signal ?? new AbortController().signal),
  });
  return { code, stdout, stderr };
}

function typedStdin(text: string): InStream {
  const stream = new PassThrough();
  stream.write(text);
  return Object.assign(stream, { isTTY: true });
}

function stdinOf(text: string | AsyncIterable<string | Uint8Array> | undefined): InStream | undefined {
  if (text === undefined) return undefined;
  return typeof text === "string" ? Readable.from([text]) : Readable.from(text);
}

/** Runs the CLI with `--json`, expects success and returns the value it printed. */
export async function jsonOf<T>(argv: readonly string[], options: RunCliOptions = {}): Promise<T> {
  const { code, stdout, stderr } = await runCli([...argv, "--json"], options);
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
