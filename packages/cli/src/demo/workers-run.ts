import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { SessionJobs } from "@bonsai-agent/postgres/jobs";
import type { OpenDatabase } from "../call/database.ts";
import { demoFailed, type WorkerProcesses } from "./worker-processes.ts";
import { commandNames, commandStart, commandsThatRan, jobPrompts, workScenario } from "./workers-scenario.ts";
import { type Continuation, continuedText, type DemoSession, type DemoState } from "./workers-view.ts";

const WORKERS = 8;
const SESSIONS = 6;
/** Heartbeats of jobs take as long, so a shorter lease would win no time. */
const LEASE_SECONDS = 10;
const KILLS = 2;
/** Time between the first work and the first kill, and between kills. */
const KILL_PAUSE_MS = 5_000;
/** A killed worker starts again so long after its session continued on another one. */
const RESTART_MS = 2_000;
const POLL_MS = 250;
const MAX_MS = 240_000;

export interface DemoEvent {
  event: "started" | "killed" | "restarted" | "continued";
  /** One sentence. */
  text: string;
  worker?: string;
  session?: string;
}

/** Everything here was verified. */
export interface DemoReport {
  ms: number;
  workers: number;
  jobs: number;
  continuations: readonly Continuation[];
  entries: number;
  /** Commands of the effect "once". Each ran exactly once. */
  commands: number;
  /** Commands that had started when their workers were killed. */
  uncertain: number;
}

interface DemoOptions {
  /** An empty folder. */
  folder: string;
  /** An empty database. */
  database: OpenDatabase & { url: string };
  /** Such as `PostgreSQL 18.4`. */
  server: string;
  processes: WorkerProcesses;
  signal: AbortSignal;
  onEvent: (event: DemoEvent) => void;
  onState: (state: DemoState) => void;
}

/** Lets workers do all jobs, kills two of them in between, and verifies the result. @throws BonsaiError `demo_failed` */
export async function runWorkers(options: DemoOptions): Promise<DemoReport> {
  const { initDatabase } = await import("@bonsai-agent/postgres");
  const { sessionJobs } = await import("@bonsai-agent/postgres/jobs");
  const { pool, sessions } = options.database;
  const jobs = sessionJobs({ pool, sessions });
  try {
    await initDatabase(pool);
    await jobs.init();
    const run = new WorkersRun(options, jobs);
    await run.start();
    const { calls } = await run.untilDone();
    return { ...(await run.verify()), uncertain: calls.uncertain };
  } finally {
    await jobs.stop();
  }
}

interface ObservedRow {
  id: string;
  lines: string;
  fence: string;
  owner: string | null;
  ended: string;
  running: string;
  uncertain: string;
}

/** @param $1 the killed workers, whose leases may still run */
const OBSERVE = `
select s.id, s.lines, s.fence, case when s.lease_until > clock_timestamp() then s.owner end as owner,
  count(c) filter (where c.state = 'settled') as ended,
  count(c) filter (where c.state = 'started' and c.fence = s.fence and s.owner <> all($1)) as running,
  count(c) filter (where c.state = 'started' and (c.fence < s.fence or s.owner = any($1))) as uncertain
from bonsai.sessions s left join bonsai.calls c on c.session_id = s.id and c.effects = 'once'
group by s.id`;

interface Interruption extends Continuation {
  /** The session's file at the kill. */
  storedBefore: string;
  fence: number;
  entries: number;
}

class WorkersRun {
  readonly #options: DemoOptions;
  readonly #jobs: SessionJobs;
  readonly #startMs = performance.now();
  #sessions: DemoSession[] = [];
  readonly #continuations: Interruption[] = [];
  readonly #killedOwners: string[] = [];
  #jobCount = 0;
  #nextKillMs: number | undefined;

  constructor(options: DemoOptions, jobs: SessionJobs) {
    this.#options = options;
    this.#jobs = jobs;
  }

  get #nowMs(): number {
    return performance.now() - this.#startMs;
  }

  /** Makes the sessions, queues their prompts and starts the workers. */
  async start(): Promise<void> {
    const { folder, processes, database, onEvent } = this.#options;
    writeFileSync(this.#launch.scenario, JSON.stringify(workScenario()));
    for (let at = 1; at <= SESSIONS; at += 1) {
      const name = `s${at}`;
      const cwd = join(folder, name);
      mkdirSync(cwd);
      const session = await database.sessions.create({ cwd });
      session.close();
      this.#sessions.push({ id: session.id, name, entries: 0, fence: 1, owner: undefined });
    }
    await database.sessions.settled();
    for (const prompt of jobPrompts)
      for (const { id } of this.#sessions) {
        await this.#jobs.enqueue({ sessionId: id, prompt });
        this.#jobCount += 1;
      }
    for (let at = 1; at <= WORKERS; at += 1) processes.start(`w${at}`, this.#launch);
    onEvent({
      event: "started",
      text: `${WORKERS} workers start. ${SESSIONS} sessions have ${this.#jobCount} jobs. Lease: ${LEASE_SECONDS} s here, 45 s by default.`,
    });
  }

  /** Returns the last state. */
  async untilDone(): Promise<DemoState> {
    const { signal, processes, onState } = this.#options;
    for (;;) {
      const state = await this.#observe();
      onState(state);
      if (state.jobs.done === this.#jobCount) return state;
      if (this.#nowMs > MAX_MS) throw demoFailed("The jobs did not end in time.");
      this.#restartKilled();
      if (processes.failure !== undefined) throw processes.failure;
      await wait(POLL_MS, undefined, { signal });
    }
  }

  async verify(): Promise<Omit<DemoReport, "uncertain">> {
    const problems: string[] = [];
    let commands = 0;
    for (const { id, name } of this.#sessions) {
      const text = await this.#stored(id, `${name}-end`);
      const before = this.#continuations.find((each) => each.session === name)?.storedBefore ?? "";
      if (!text.startsWith(before)) problems.push(`${name} lost entries that were stored.`);
      const ran = commandsThatRan(join(this.#options.folder, name));
      if (new Set(ran).size < ran.length) problems.push(`A command of ${name} ran twice.`);
      if (ran.some((part) => !text.includes(commandStart(part))))
        problems.push(`${name} lost a command that ran.`);
      if (commandNames.some((part) => !ran.includes(part))) problems.push(`${name} skipped a command.`);
      commands += ran.length;
    }
    const ended = await this.#jobs.list({ limit: this.#jobCount });
    const failed = ended.filter(({ outcome }) => outcome?.status !== "done");
    if (failed.length > 0) problems.push(`${failed.length} jobs failed.`);
    if (this.#continuations.filter(({ by }) => by !== undefined).length < KILLS)
      problems.push(`Fewer than ${KILLS} sessions were continued.`);
    if (problems.length > 0) throw demoFailed(problems.join(" "));
    return {
      ...{ ms: this.#nowMs, workers: WORKERS, jobs: ended.length, commands },
      continuations: this.#continuations.map(({ storedBefore: _text, ...shown }) => shown),
      entries: this.#sessions.reduce((sum, { entries }) => sum + entries, 0),
    };
  }

  get #launch() {
    const { folder, database } = this.#options;
    return { url: database.url, scenario: join(folder, "scenario.json"), leaseSeconds: LEASE_SECONDS };
  }

  /** Reads the state from the database, and kills a worker if it is time. */
  async #observe(): Promise<DemoState> {
    const { database, processes, server } = this.#options;
    const { rows } = await database.pool
      .query<ObservedRow>(OBSERVE, [this.#killedOwners])
      .catch(({ code = "lost connection" }: { code?: string }) => {
        throw demoFailed(`The database did not answer: ${code}`);
      });
    const listed = await this.#jobs.list({ limit: this.#jobCount });
    this.#sessions = this.#sessions.map((session) => observed(session, rows));
    this.#noteContinuations();
    await this.#killOne(rows);
    const done = listed.filter(({ outcome }) => outcome !== undefined).length;
    const working = listed.filter(({ state }) => state === "active").length;
    return {
      ...{ nowMs: this.#nowMs, leaseSeconds: LEASE_SECONDS, server, workers: processes.workers },
      ...{ sessions: this.#sessions, continuations: this.#continuations },
      jobs: { done, working, waiting: listed.length - done - working },
      calls: { ended: sumOf(rows, "ended"), uncertain: sumOf(rows, "uncertain") },
    };
  }

  #noteContinuations(): void {
    for (const each of this.#continuations.filter(({ by }) => by === undefined)) {
      const session = this.#sessions.find(({ name }) => name === each.session)!;
      const worker = this.#options.processes.workers.find(({ owner }) => owner === session.owner);
      // It has added an entry: it works.
      if (worker === undefined || session.fence === each.fence || session.entries <= each.entries) continue;
      Object.assign(each, { by: worker.name, continuedMs: this.#nowMs });
      const names = { worker: worker.name, session: session.id };
      this.#options.onEvent({ event: "continued", text: continuedText(each), ...names });
    }
  }

  /** Kills a worker whose session runs a command. */
  async #killOne(rows: readonly ObservedRow[]): Promise<void> {
    const { processes, onEvent } = this.#options;
    const working = processes.workers.filter(({ state }) => state === "working");
    if (working.length > 0) this.#nextKillMs ??= this.#nowMs + KILL_PAUSE_MS;
    if (this.#nowMs < (this.#nextKillMs ?? Number.POSITIVE_INFINITY) || this.#continuations.length === KILLS)
      return;
    const running = rows.filter(({ running }) => Number(running) > 0).map(({ id }) => id);
    const worker = working.find(({ sessionId, isRestarted }) => !isRestarted && running.includes(sessionId!));
    const session = this.#sessions.find(({ id }) => id === worker?.sessionId);
    if (worker === undefined || session === undefined) return;
    await processes.kill(worker, this.#nowMs);
    this.#killedOwners.push(worker.owner);
    this.#nextKillMs = this.#nowMs + KILL_PAUSE_MS;
    const storedBefore = await this.#stored(session.id, `${session.name}-kill`);
    this.#continuations.push({
      ...{ killed: worker.name, session: session.name, killedMs: worker.killedMs!, storedBefore },
      ...{ fence: session.fence, entries: storedBefore.split("\n").length - 2 },
    });
    const text = `${worker.name} was killed (SIGKILL) while ${session.name} ran a command`;
    onEvent({ event: "killed", text, worker: worker.name, session: session.id });
  }

  #restartKilled(): void {
    const { processes, onEvent } = this.#options;
    for (const { name, state } of processes.workers) {
      const continued = this.#continuations.find(({ killed }) => killed === name)?.continuedMs;
      if (state !== "killed" || continued === undefined || this.#nowMs - continued < RESTART_MS) continue;
      processes.start(name, this.#launch);
      onEvent({ event: "restarted", text: `${name} starts again`, worker: name });
    }
  }

  /** The session's file, from the database. */
  async #stored(id: string, name: string): Promise<string> {
    const file = join(this.#options.folder, `${name}.jsonl`);
    await this.#options.database.sessions.pull(id, file);
    return readFileSync(file, "utf8");
  }
}

/** @throws BonsaiError `demo_failed` if stored entries are gone */
function observed(session: DemoSession, rows: readonly ObservedRow[]): DemoSession {
  const row = rows.find(({ id }) => id === session.id);
  const entries = Number(row?.lines) - 1;
  if (row === undefined || entries < session.entries)
    throw demoFailed(`${session.name} lost stored entries.`);
  return { ...session, entries, fence: Number(row.fence), owner: row.owner ?? undefined };
}

function sumOf(rows: readonly ObservedRow[], column: "ended" | "uncertain"): number {
  return rows.reduce((sum, row) => sum + Number(row[column]), 0);
}
