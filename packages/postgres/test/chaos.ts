import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type SessionJobs, sessionJobs } from "../src/jobs.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import type { TestDatabase } from "./test-database.ts";

const HOUR_MS = 3_600_000;
/** Eight workers in three processes, with clocks an hour apart. */
const HOSTS = [
  { workers: 3, clockMs: -HOUR_MS },
  { workers: 3, clockMs: HOUR_MS },
  { workers: 2, clockMs: 0 },
];
const CUTS_OF_ROUND = 10;
/** After 10 seconds without a sign of life, other workers get the jobs of a stopped process. */
const MAX_PAUSE_MS = 30_000;
const DRAIN_MS = 40_000;
const program = fileURLToPath(new URL("fixtures/chaos-worker.ts", import.meta.url));

export interface ChaosOptions {
  database: TestDatabase;
  sessions: number;
  leaseMs: number;
  /** Jobs at the start. */
  jobs: number;
  /** Time of more rounds of faults, with more jobs. Default: one round */
  durationMs?: number;
  /** Time between rounds. */
  calmMs?: number;
  /** Time for the jobs to end after the last fault. */
  endMs: number;
}

/** Counts of one run. The faults that must never happen come last. */
export interface ChaosReport {
  jobs: number;
  done: number;
  kills: number;
  pauses: number;
  /** Sessions that other workers took from a paused process. */
  takeovers: number;
  restarts: number;
  cuts: number;
  /** Sessions that a killed process worked on. */
  orphans: number;
  /** For each orphan that had work left: from the death, and from the lease's end, to its next stored entry. */
  recoveries: { afterDeathMs: number; afterLeaseMs: number }[];
  /** Entries that a worker knew as stored. */
  acknowledged: number;
  lost: number;
  lateWrites: number;
  /** Steps of a host with a valid lease after a step of a newer host. */
  doubleHosts: number;
  repeatedCalls: number;
  /** Prompts that are missing or repeated. */
  wrongPrompts: number;
  /** Damaged lines, and gaps between segments. */
  damages: number;
  /** Processes that did not end by themselves after SIGTERM. */
  failedExits: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills, pauses and cuts off workers, and restarts the server, while they do jobs. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  const proxy = await CuttingProxy.start(Number(new URL(options.database.server.url).port));
  const run = new ChaosRun(options, folder, proxy);
  try {
    return await run.run();
  } finally {
    run.killAll();
    proxy.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #folder: string;
  readonly #proxy: CuttingProxy;
  readonly #harness: ReturnType<TestDatabase["host"]>;
  readonly #jobs: SessionJobs;
  readonly #processes: ChildProcess[] = [];
  /** Resolved when the workers of a process take jobs, and SIGTERM drains them. */
  readonly #ready = new Map<ChildProcess, Promise<unknown>>();
  readonly #sessionIds: string[] = [];
  readonly #counts = { jobs: 0, kills: 0, pauses: 0, takeovers: 0, restarts: 0 };

  constructor(options: ChaosOptions, folder: string, proxy: CuttingProxy) {
    this.#options = options;
    this.#folder = folder;
    this.#proxy = proxy;
    this.#harness = options.database.host("harness", { leaseMs: options.leaseMs });
    this.#jobs = sessionJobs({ pool: options.database.pool, sessions: this.#harness });
    writeFileSync(this.#log, "");
  }

  get #log(): string {
    return join(this.#folder, "log.txt");
  }

  async run(): Promise<ChaosReport> {
    const { database, sessions, jobs, durationMs = 0, calmMs = 0, endMs } = this.#options;
    await database.pool.query(WATCH_WRITES);
    await this.#jobs.init();
    let hosts = HOSTS.map((_, number) => this.#start(number));
    for (let number = 0; number < sessions; number += 1) {
      const session = await this.#harness.create({ cwd: "/work" });
      session.close();
      this.#sessionIds.push(session.id);
    }
    await this.#harness.settled();
    await this.#enqueue(jobs);
    while (readFileSync(this.#log, "utf8") === "") await pause(50);
    const untilMs = performance.now() + durationMs;
    hosts = await this.#round(hosts);
    while (performance.now() < untilMs) {
      await this.#work(calmMs);
      hosts = await this.#round(hosts);
    }
    await this.#ended(endMs);
    const failedExits = await this.#drain(hosts);
    const report = await this.#report();
    await this.#jobs.stop();
    return { ...report, failedExits };
  }

  async #drain(hosts: ChildProcess[]): Promise<number> {
    await Promise.all(hosts.map((child) => this.#ready.get(child)));
    const exits = hosts.map((child) => new Promise<void>((resolve) => child.once("exit", () => resolve())));
    for (const child of hosts) child.kill("SIGTERM");
    await Promise.race([Promise.all(exits), pause(DRAIN_MS)]);
    const failed = hosts.filter(({ exitCode }) => exitCode !== 0);
    this.killAll();
    return failed.length;
  }

  killAll(): void {
    for (const each of this.#processes) each.kill("SIGKILL");
  }

  #start(number: number): ChildProcess {
    const { database, leaseMs } = this.#options;
    const { workers, clockMs } = HOSTS[number % HOSTS.length]!;
    const url = database.server.url.replace(/:\d+\//, `:${this.#proxy.port}/`);
    const node = ["--conditions=@bonsai-agent/source", "--no-warnings", program];
    const name = `host-${this.#processes.length}`;
    const values = [url, this.#folder, name, workers, leaseMs, clockMs].map(String);
    const child = spawn(process.execPath, [...node, ...values], { stdio: ["ignore", "pipe", "inherit"] });
    this.#processes.push(child);
    this.#ready.set(child, new Promise((resolve) => child.stdout!.once("data", resolve)));
    return child;
  }

  /** Kills two processes and stops one until others do its work. @returns the processes of the next round, in another order */
  async #round([first, second, third]: ChildProcess[]): Promise<ChildProcess[]> {
    const { database, leaseMs } = this.#options;
    await this.#kill(first!);
    const fourth = this.#start(0);
    await pause(500);
    const held = await this.#pauseAtWork(second!);
    this.#proxy.cuts = CUTS_OF_ROUND;
    await pause(1_000);
    await database.server.restart();
    this.#counts.restarts += 1;
    await pause(500);
    await this.#kill(third!);
    const fifth = this.#start(2);
    await this.#work(2 * leaseMs);
    const untilMs = performance.now() + MAX_PAUSE_MS;
    while (performance.now() < untilMs && (await this.#heldBy(second!)) > 0) await this.#work(500);
    this.#counts.takeovers += held - (await this.#heldBy(second!));
    second!.kill("SIGCONT");
    return [second!, fourth, fifth];
  }

  async #kill(child: ChildProcess): Promise<void> {
    child.kill("SIGKILL");
    this.#counts.kills += 1;
    await this.#options.database.pool.query(NOTE_DEATH, [this.#ownersIn(child)]);
  }

  /** Stops a process that works on sessions. @returns their number */
  async #pauseAtWork(child: ChildProcess): Promise<number> {
    for (const untilMs = performance.now() + MAX_PAUSE_MS; ; await pause(100)) {
      child.kill("SIGSTOP");
      const held = await this.#heldBy(child);
      if (held > 0) this.#counts.pauses += 1;
      if (held > 0 || performance.now() > untilMs) return held;
      child.kill("SIGCONT");
    }
  }

  /** Counts the sessions of a process. */
  async #heldBy(child: ChildProcess): Promise<number> {
    const { rows } = await this.#options.database.pool.query<{ held: number }>(
      "select count(*)::int as held from bonsai.sessions where owner like $1",
      [this.#ownersIn(child)],
    );
    return rows[0]!.held;
  }

  #ownersIn(child: ChildProcess): string {
    return `host-${this.#processes.indexOf(child)}.%`;
  }

  /** Waits. A run of many rounds always has a waiting job for each session. */
  async #work(ms: number): Promise<void> {
    const { sessions, durationMs } = this.#options;
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; await pause(500))
      if (durationMs !== undefined)
        await this.#enqueue(sessions - (this.#counts.jobs - (await this.#done())));
  }

  async #enqueue(count: number): Promise<void> {
    for (let more = count; more > 0; more -= 1) {
      const number = this.#counts.jobs;
      const sessionId = this.#sessionIds[number % this.#sessionIds.length]!;
      await this.#jobs.enqueue({ sessionId, prompt: `${number}.` });
      this.#counts.jobs += 1;
    }
  }

  async #done(): Promise<number> {
    const { rows } = await this.#options.database.pool.query<{ done: string }>(
      "select count(*) as done from bonsai_jobs.job where state = 'completed' and output->>'status' = 'done'",
    );
    return Number(rows[0]!.done);
  }

  async #ended(endMs: number): Promise<void> {
    for (const untilMs = performance.now() + endMs; performance.now() < untilMs; await pause(500))
      if ((await this.#done()) === this.#counts.jobs) return;
  }

  async #report(): Promise<Omit<ChaosReport, "failedExits">> {
    const { pool } = this.#options.database;
    const { rows: recoveries } = await pool.query<{ afterDeathMs: number; afterLeaseMs: number }>(RECOVERIES);
    const { rows: counts } = await pool.query<{ orphans: number; lateWrites: number; gaps: number }>(COUNTS);
    const { orphans, lateWrites, gaps } = counts[0]!;
    const log = readLog(this.#log);
    const sent = log.filter(({ what }) => what === "send").map(({ jobId }) => jobId);
    const report = {
      ...{
        ...this.#counts,
        cuts: this.#proxy.done,
        done: await this.#done(),
        orphans,
        recoveries,
        lateWrites,
      },
      ...{ acknowledged: 0, lost: 0, doubleHosts: 0, wrongPrompts: 0, damages: gaps },
      repeatedCalls: sent.length - new Set(sent).size,
    };
    const linesOf = Map.groupBy(log, ({ sessionId }) => sessionId);
    for (const [at, sessionId] of this.#sessionIds.entries()) {
      const lines = linesOf.get(sessionId) ?? [];
      const fences = lines.filter(({ isLate }) => !isLate).map(({ fence }) => fence);
      report.doubleHosts += fences.filter((fence, index) => index > 0 && fence < fences[index - 1]!).length;
      const session = await this.#harness.open(sessionId, { waitMs: 60_000 });
      const stored = lines.filter(({ what, isLate }) => what === "answered" || !isLate);
      const acknowledged = [...new Set(stored.map(({ leafId }) => leafId))];
      report.acknowledged += acknowledged.length;
      report.lost += acknowledged.filter((id) => session.entry(id) === undefined).length;
      const prompts = session.entries().flatMap((entry) => JSON.stringify(entry).match(/"job \d+\."/) ?? []);
      const jobs = Math.ceil((this.#counts.jobs - at) / this.#sessionIds.length);
      report.wrongPrompts += Math.abs(jobs - new Set(prompts).size) + prompts.length - new Set(prompts).size;
      report.damages += session.problems().length;
      session.close();
    }
    await this.#harness.settled();
    return report;
  }
}

interface LogLine {
  what: string;
  sessionId: string;
  fence: number;
  jobId: string;
  leafId: string;
  isLate: boolean;
}

function readLog(file: string): LogLine[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [what = "", sessionId = "", fence, jobId = "", leafId = "", isLate] = line.split(" ");
    return { what, sessionId, fence: Number(fence), jobId, leafId, isLate: isLate === "true" };
  });
}

/** The server itself notes each stored segment, and whether a newer host had the session then. */
const WATCH_WRITES = `
create schema chaos;
create table chaos.writes (session_id text, fence bigint, at timestamptz, is_late boolean);
create table chaos.deaths (session_id text, fence bigint, at timestamptz, lease_until timestamptz);
create function chaos.note_write() returns trigger language plpgsql as $$
begin
  insert into chaos.writes
    select new.session_id, new.fence, clock_timestamp(), new.fence < s.fence
    from bonsai.sessions s where s.id = new.session_id;
  return new;
end $$;
create trigger note_write before insert on bonsai.segments for each row execute function chaos.note_write()`;

/** Only of sessions whose job had not ended: the next job of another one can wait for its turn. */
const NOTE_DEATH = `
insert into chaos.deaths select s.id, fence, clock_timestamp(), lease_until
from bonsai.sessions s join bonsai_jobs.job j on j.singleton_key = s.id and j.state = 'active'
where owner like $1 and lease_until > clock_timestamp() and not exists (
  select from bonsai.calls c where c.session_id = s.id and c.call_id = 'job:' || j.id and c.state = 'settled')`;

const RECOVERIES = `
select extract(epoch from min(w.at) - d.at)::float * 1000 as "afterDeathMs",
  extract(epoch from min(w.at) - d.lease_until)::float * 1000 as "afterLeaseMs"
from chaos.deaths d join chaos.writes w on w.session_id = d.session_id and w.fence > d.fence and w.at > d.at
group by d.session_id, d.fence, d.at, d.lease_until`;

const COUNTS = `
select (select count(*)::int from chaos.deaths) as orphans,
  (select count(*)::int from chaos.writes where is_late) as "lateWrites",
  (select count(*)::int from (
    select from_byte, lag(to_byte, 1, 0::bigint) over (partition by session_id order by from_byte) as previous
    from bonsai.segments
  ) pairs where from_byte <> previous) as gaps`;
