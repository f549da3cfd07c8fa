import { join } from "node:path";
import type { CliIo } from "../src/call/io.ts";
import { runInteractive } from "../src/interactive/interactive-mode.ts";
import { agentCall } from "../test/interactive/agent-call.ts";
import { BlankTerminal } from "./blank-terminal.ts";

export interface OpenInteractiveOptions {
  /** Project, and home of Bonsai's own files. */
  folder: string;
  /** The session. */
  file: string;
  /** What the model says: a scenario file. */
  scenario: string;
}

/** Opens the interactive mode in this process. */
export async function openInteractive({ folder, file, scenario }: OpenInteractiveOptions) {
  const terminal = new BlankTerminal();
  const stop = new AbortController();
  const stream = { isTTY: true, columns: terminal.columns, write: () => true };
  const io: CliIo = {
    stdout: stream,
    stderr: stream,
    stdin: { isTTY: true, async *[Symbol.asyncIterator]() {} },
    env: { BONSAI_HOME: join(folder, "home") },
    cwd: folder,
    now: Date.now,
    interruptible: (work) => work(stop.signal),
  };
  const started = performance.now();
  const call = agentCall(["--session", file, "--model", `scripted/${scenario}`], io);
  const ended = runInteractive(call, terminal);
  await terminal.until("scripted", 60_000);
  const openedMs = performance.now() - started;
  const end = async () => {
    stop.abort(new Error("The bench is over."));
    await ended;
  };
  return { terminal, openedMs, end };
}
