import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Scenario, ScenarioAnswer } from "@bonsai-agent/models/scripted";
import type { SharedSessions } from "@bonsai-agent/postgres";
import type { SessionJobs } from "@bonsai-agent/postgres/jobs";
import type { CliIo } from "../call/io.ts";
import { duration } from "../views/numbers.ts";
import { type DemoSession, type DemoWorker, type Guardian, LEASE_SECONDS, startWorker } from "./workers.ts";
import type { DemoState } from "./workers-view.ts";

const WORKERS = 8;
/** Two workers stay free, so that a killed worker's session waits only for the lease. */
const SESSIONS = 6;
const COMMANDS = 15;
const KILLS = 2;
/** Time between the first command and the first kill, and between kills. */
const KILL_PAUSE_MS = 4_000;
const POLL_MS = 250;

export interface DemoEvent {
  event: "started" | "killed" | "continued";
  text: string;
}

/** Everything here was verified. */
export interface DemoReport {
  ms: number;
  sessions: number;
  /** Each ran exactly once. */
  commands: number;
  continuations: { session: string; killed: string; by: string; afterMs: number }[];
}

interface DemoOptions {
  /** An empty folder. */
  folder: string;
  env: CliIo["env"];
  /** An empty database. */
  url: string;
  guardian: Guardian;
  signal: AbortSignal;
  onEvent: (event: DemoEvent) => void;
  onState: (state: DemoState) => void;
}

/** Lets workers do all work, kills two of them, and verifies the result. @throws BonsaiError `demo_failed` */
export async function runWorkers(options: DemoOptions): Promise<DemoReport> {
  const { initDatabase, openPool, sharedSessions } = await import("@bonsai-agent/postgres");
  const { sessionJobs } = await import("@bonsai-agent/postgres/jobs");
  const pool = openPool(options.url);
  const store = sharedSessions({ pool, owner: "demo", folder: join(options.folder, "demo") });
  const jobs = sessionJobs({ pool, sessions: store });
  try {
    await initDatabase(pool);
    await jobs.init();
    const run = new WorkersRun({ ...options, store, jobs });
    await run.start();
    await run.untilDone();
    return await run.verify();
  } finally {
    await jobs.stop();
    await pool.end();
  }
}

class WorkersRun {
  readonly #options: DemoOptions & { store: SharedSessions; jobs: SessionJobs };
  readonly #startMs = performance.now();
  readonly #workers: DemoWorker[] = [];
  readonly #sessions: DemoSession[] = [];
  readonly #events: DemoEvent[] = [];
  #nextKillMs: number | undefined;

  constructor(options: DemoOptions & { store: SharedSessions; jobs: SessionJobs }) {
    this.#options = options;
  }

  get #nowMs(): number {
    return performance.now() - this.#startMs;
  }

  /** Makes the sessions, queues their prompts and starts the workers. */
  async start(): Promise<void> {
    const { folder, env, url, guardian, store, jobs } = this.#options;
    for (let at = 1; at <= SESSIONS; at += 1) {
      const name = `session ${at}`;
      const cwd = join(folder, name);
      mkdirSync(cwd);
      const session = await store.create({ cwd });
      session.close();
      await store.settled();
      await jobs.enqueue({ sessionId: session.id, prompt: PROMPT });
      this.#sessions.push({ id: session.id, name, folder: cwd, ran: 0 });
    }
    const scenario = join(folder, "scenario.json");
    writeFileSync(scenario, JSON.stringify(scriptedWork()));
    for (let at = 1; at <= WORKERS; at += 1) {
      const settings = { name: `w${at}`, folder, model: `scripted/${scenario}` };
      const worker = startWorker(settings, { ...env, BONSAI_DATABASE: url });
      guardian.guard(worker.process, "SIGKILL");
      this.#workers.push(worker);
    }
    this.#emit(
      "started",
      `${WORKERS} workers share ${SESSIONS} sessions in a PostgreSQL database. Each session runs ${COMMANDS} commands. The demo kills ${KILLS} workers. When a worker is silent for ${LEASE_SECONDS} s (45 s by default), another one continues its session.`,
    );
  }

  async untilDone(): Promise<void> {
    const { signal, jobs, onState } = this.#options;
    for (;;) {
      await this.#observe();
      const outcomes = (await jobs.list()).flatMap(({ outcome = [] }) => outcome);
      onState({ nowMs: this.#nowMs, workers: this.#workers, commands: COMMANDS, events: this.#events });
      const failed = outcomes.find(({ status }) => status !== "done");
      if (failed !== undefined) throw demoFailed(`A prompt ended as ${failed.status}: ${failed.detail}`);
      const ended = this.#workers.find(({ process }) => process.exitCode !== null);
      if (ended !== undefined) throw demoFailed(`The worker ${ended.name} ended: ${ended.lastError}`);
      if (outcomes.length === SESSIONS) return;
      await wait(POLL_MS, undefined, { signal });
    }
  }

  async verify(): Promise<DemoReport> {
    const continuations: DemoReport["continuations"] = [];
    for (const session of this.#sessions) {
      const { name, folder, kill, continued } = session;
      if (commandsThatRan(folder).join() !== commands.join())
        throw demoFailed(`In ${name}, a command is missing or ran twice.`);
      if (kill === undefined || continued === undefined) continue;
      if (!(await this.#stored(session)).startsWith(kill.stored))
        throw demoFailed(`${name} lost stored entries.`);
      continuations.push({ session: name, killed: kill.worker, ...continued });
    }
    if (continuations.length < KILLS) throw demoFailed(`Fewer than ${KILLS} sessions continued.`);
    return { ms: this.#nowMs, sessions: SESSIONS, commands: SESSIONS * COMMANDS, continuations };
  }

  /** Reads the state from the database and the logs. Kills a worker if it is time. */
  async #observe(): Promise<void> {
    const listed = await this.#options.store.list();
    for (const session of this.#sessions) {
      const owner = listed.find(({ id }) => id === session.id)?.owner;
      const worker = this.#workers.find((each) => each.process.signalCode === null && each.owner === owner);
      const ran = commandsThatRan(session.folder).length;
      const isInCommand = ran > session.ran;
      session.ran = ran;
      if (worker === undefined) continue;
      worker.session = session;
      if (session.kill === undefined) {
        if (isInCommand && this.#isKillDue()) await this.#kill(session, worker);
      } else if (session.continued === undefined) this.#noteContinuation(session, worker);
    }
  }

  #isKillDue(): boolean {
    this.#nextKillMs ??= this.#nowMs + KILL_PAUSE_MS;
    return this.#nowMs >= this.#nextKillMs && this.#sessions.filter(({ kill }) => kill).length < KILLS;
  }

  async #kill(session: DemoSession, worker: DemoWorker): Promise<void> {
    worker.process.kill("SIGKILL");
    await once(worker.process, "exit");
    this.#nextKillMs = this.#nowMs + KILL_PAUSE_MS;
    session.kill = { worker: worker.name, ms: this.#nowMs, stored: await this.#stored(session) };
    this.#emit("killed", `${worker.name} was killed while ${session.name} ran a command.`);
  }

  #noteContinuation(session: DemoSession, { name }: DemoWorker): void {
    const { worker, ms } = session.kill!;
    session.continued = { by: name, afterMs: this.#nowMs - ms };
    const time = duration(session.continued.afterMs);
    this.#emit("continued", `${name} continued ${session.name}, ${time} after ${worker} was killed.`);
  }

  #emit(event: DemoEvent["event"], text: string): void {
    this.#events.push({ event, text });
    this.#options.onEvent({ event, text });
  }

  /** The session's file, from the database. */
  async #stored({ id, folder }: DemoSession): Promise<string> {
    const file = join(folder, `${this.#nowMs}.jsonl`);
    await this.#options.store.pull(id, file);
    return readFileSync(file, "utf8");
  }
}

const PROMPT = "Run all commands.";
/** Each command adds its name to this file in its session's folder. */
const LOG = "log";
const commands = Array.from({ length: COMMANDS }, (_, at) => `command ${at + 1}`);

function commandsThatRan(folder: string): string[] {
  const file = join(folder, LOG);
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

/** The model's answers depend only on the session, so each worker can continue each session. */
function scriptedWork(): Scenario {
  const turn: ScenarioAnswer[] = [
    // The log has all names: the last one counts.
    ...commands.map((name, at) => ({ when: { lastTextMatches: `${name}$` }, ...nextStep(at + 1) })).reverse(),
    { when: { lastTextMatches: `^${PROMPT}` }, ...nextStep(0) },
    // There is no log: no command ran.
    { when: { lastTool: "read", lastToolFailed: true }, ...nextStep(0) },
    { when: {}, calls: [{ name: "read", arguments: { path: LOG } }] },
  ];
  return { turn: turn.map((answer) => ({ ...answer, times: 1_000 })) };
}

function nextStep(at: number): ScenarioAnswer {
  const name = commands[at];
  if (name === undefined) return { text: "All commands ran." };
  return { calls: [{ name: "bash", arguments: { command: `echo ${name} | tee -a ${LOG}; sleep 1` } }] };
}

function demoFailed(message: string): BonsaiError {
  return new BonsaiError({
    /** The demo of workers found a loss, a command that ran twice, or a worker that ended by itself. */
    code: "demo_failed",
    message,
    hint: "Run `bonsai worker --demo` again. If it fails again, report it with this message.",
  });
}
