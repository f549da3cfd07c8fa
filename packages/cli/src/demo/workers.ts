import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { CliIo } from "../call/io.ts";

/** pg-boss frees the job of a killed worker after the same time, so a shorter lease would win nothing. */
export const LEASE_SECONDS = 10;

/** Ends the listed processes and deletes the folder when its input ends. The input ends with the demo, or by its crash. */
const PROGRAM = `
let signals = [];
const send = (pid, signal) => {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // The process has ended. A program of another user can have its number.
    if (error.code === "ESRCH" || error.code === "EPERM") return false;
    throw error;
  }
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  signals = JSON.parse(line);
}).on("close", async () => {
  for (const [pid, signal] of signals) send(pid, signal);
  for (let step = 0; step < 100 && signals.some(([pid]) => send(pid, 0)); step += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  require("node:fs").rmSync(process.argv[1], { recursive: true, force: true, maxRetries: 9, retryDelay: 99 });
});`;

/** A process that removes everything of the demo, however the demo ends. */
export class Guardian {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #signals = new Map<number, NodeJS.Signals>();

  /** @param folder deleted at the end */
  constructor(folder: string) {
    this.#process = spawn(process.execPath, ["-e", PROGRAM, folder], {
      // Ctrl-C in a terminal reaches all processes that are not detached.
      ...{ detached: true, windowsHide: true, cwd: "/" },
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#ended = once(this.#process, "exit");
  }

  /** @param signal ends the process if it still runs at the end */
  guard(child: ChildProcess, signal: NodeJS.Signals): void {
    this.#set(child, signal);
    // Another process may get its number.
    child.once("exit", () => this.#set(child));
  }

  /** Ends all processes and deletes the folder. */
  end(): Promise<unknown> {
    this.#process.stdin!.end();
    return this.#ended;
  }

  #set({ pid }: ChildProcess, signal?: NodeJS.Signals): void {
    const { stdin } = this.#process;
    if (pid === undefined || !stdin!.writable) return;
    if (signal === undefined) this.#signals.delete(pid);
    else this.#signals.set(pid, signal);
    stdin!.write(`${JSON.stringify([...this.#signals])}\n`);
  }
}

export interface DemoWorker {
  /** Such as `w3`. */
  name: string;
  /** Its name in the database. */
  owner: string;
  process: ChildProcess;
  /** The end of its output on standard error. */
  lastError: string;
  /** Its last session. */
  session?: DemoSession;
}

export interface DemoSession {
  /** Such as `session 3`. */
  name: string;
  id: string;
  folder: string;
  /** Number of commands that ran. */
  ran: number;
  /** The kill of its first worker. */
  kill?: { worker: string; ms: number; stored: string };
  continued?: { by: string; afterMs: number };
}

/** Starts `bonsai worker` with a home of its own, as on another host. */
export function startWorker(
  { name, folder, model }: { name: string; folder: string; model: string },
  env: CliIo["env"],
): DemoWorker {
  const home = join(folder, name);
  mkdirSync(home);
  writeFileSync(join(home, "settings.json"), JSON.stringify({ model, titles: false }));
  const words = ["worker", "--concurrency=1", `--lease=${LEASE_SECONDS}`];
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words], {
    ...{ detached: true, windowsHide: true, cwd: folder },
    ...{ env: { ...env, BONSAI_HOME: home }, stdio: ["ignore", "ignore", "pipe"] },
  });
  const worker = { name, owner: `${hostname()}:${child.pid}`, process: child, lastError: "" };
  child.stderr!.on("data", (text: Buffer) => Object.assign(worker, { lastError: `${text}`.trim() }));
  return worker;
}
