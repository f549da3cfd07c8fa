import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import type { CliIo } from "../call/io.ts";

/**
 * Ends the listed processes and deletes the folder once its input ends, which happens however the demo ends: workers
 * first, then the server.
 */
const GUARDIAN = `
const signals = new Map();
const send = (pid, signal) => {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [pid, signal] = line.split(" ");
  if (signal) signals.set(Number(pid), signal);
  else signals.delete(Number(pid));
}).on("close", async () => {
  for (const signal of ["SIGTERM", "SIGQUIT"]) {
    const pids = [...signals.keys()].filter((pid) => signals.get(pid) === signal);
    for (const pid of pids) send(pid, signal);
    for (let step = 0; step < 50 && pids.some((pid) => send(pid, 0)); step += 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    for (const pid of pids) send(pid, "SIGKILL");
  }
  require("node:fs").rmSync(process.argv[1], { recursive: true, force: true, maxRetries: 9, retryDelay: 99 });
});`;

/** Pass it for a process that the guardian ends, or nothing for a process that has ended. */
type EndSignal = "SIGTERM" | "SIGQUIT" | "";

/** One worker of the demo, in the eyes of its parent. */
export interface DemoWorker {
  /** Such as `w3`. */
  readonly name: string;
  /** As the database names it. */
  readonly owner: string;
  state: "starting" | "waiting" | "working" | "killed";
  isRestarted: boolean;
  /** The session that it works on, or worked on when it was killed. */
  sessionId?: string | undefined;
  killedMs?: number;
}

/** Starts and ends the processes of the demo. */
export class WorkerProcesses {
  readonly workers: DemoWorker[] = [];
  /** Set when a worker ends by itself. */
  failure: Error | undefined;
  readonly #folder: string;
  readonly #env: CliIo["env"];
  readonly #guardian: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #children = new Map<DemoWorker, ChildProcess>();

  /** @param folder deleted at the end */
  constructor(folder: string, env: CliIo["env"]) {
    this.#folder = folder;
    this.#env = env;
    this.#guardian = spawn(process.execPath, ["-e", GUARDIAN, folder], {
      // Ctrl-C in a terminal reaches all processes that are not detached.
      ...{ detached: true, windowsHide: true, cwd: "/" },
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#ended = once(this.#guardian, "exit");
  }

  guard(pid: number, signal: EndSignal): void {
    this.#guardian.stdin?.write(`${pid} ${signal}\n`);
  }

  /** Starts `bonsai worker` as on another host: with a home of its own. A second start replaces a killed worker. */
  start(
    name: string,
    { url, scenario, leaseSeconds }: { url: string; scenario: string; leaseSeconds: number },
  ): void {
    const home = join(this.#folder, name);
    mkdirSync(home, { recursive: true });
    writeFileSync(
      join(home, "settings.json"),
      JSON.stringify({ model: `scripted/${scenario}`, titles: false }),
    );
    const words = ["worker", "--json", "--concurrency=1", "--grace=1", `--lease=${leaseSeconds}`];
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words], {
      ...{ detached: true, windowsHide: true, cwd: this.#folder },
      env: { ...this.#env, BONSAI_HOME: home, BONSAI_DATABASE: url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const at = this.workers.findIndex((other) => other.name === name);
    const owner = `${hostname()}:${child.pid}`;
    const worker: DemoWorker = { name, owner, state: "starting", isRestarted: at >= 0 };
    this.workers[at >= 0 ? at : this.workers.length] = worker;
    this.#children.set(worker, child);
    this.guard(child.pid!, "SIGTERM");
    this.#follow(worker, child);
  }

  /** As a crash of its machine would. */
  async kill(worker: DemoWorker, nowMs: number): Promise<void> {
    const child = this.#children.get(worker)!;
    Object.assign(worker, { state: "killed", killedMs: nowMs });
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Ends all processes and deletes the folder. */
  end(): Promise<unknown> {
    this.#children.clear();
    this.#guardian.stdin?.end();
    return this.#ended;
  }

  #follow(worker: DemoWorker, child: ChildProcess): void {
    let lastError = "";
    createInterface({ input: child.stderr! }).on("line", (line) => {
      lastError = line;
      if (line.includes("worker_ready") && worker.state === "starting") worker.state = "waiting";
    });
    createInterface({ input: child.stdout! }).on("line", (line) => {
      // The last line of a killed worker may be torn.
      if (worker.state === "killed") return;
      const told: unknown = JSON.parse(line);
      if (!isRecord(told)) return;
      const isWorking = told.event === "started";
      worker.state = isWorking ? "working" : "waiting";
      worker.sessionId = isWorking ? String(told.session) : undefined;
    });
    child.once("error", (error) => {
      this.failure = error;
    });
    child.once("exit", () => {
      this.guard(child.pid!, "");
      if (worker.state === "killed" || !this.#children.has(worker)) return;
      this.failure = demoFailed(`The worker ${worker.name} ended: ${lastError}`);
    });
  }
}

export function demoFailed(message: string): BonsaiError {
  return new BonsaiError({
    /** The demo of workers found a loss, a command that ran twice, or a worker that ended by itself. */
    code: "demo_failed",
    message,
    hint: "Run `bonsai worker --demo` again. If it fails again, report it with this message.",
  });
}
