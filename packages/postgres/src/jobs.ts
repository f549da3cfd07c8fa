import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type pg from "pg";
import { type ConstructorOptions, PgBoss } from "pg-boss";
import { connectionOf, databaseError, isTransientError, query, withoutSecrets } from "./database.ts";
import { type SharedSessions, sharedStoreOf } from "./shared-sessions.ts";

// Prompts for sessions, as jobs of pg-boss in the schema `bonsai_jobs`. The jobs of one session run one after the other, in
// the order of their arrival.

const QUEUE = "prompts";
const SCHEMA = "bonsai_jobs";
/** A worker without a sign of life for this long has lost its jobs. pg-boss allows no shorter time. */
const HEARTBEAT_SECONDS = 10;
/** How often the workers together look for lost jobs. */
const SUPERVISE_SECONDS = 2;
/** The end of a job frees the next one of its session without a notification. */
const POLL_SECONDS = 0.5;
/** Connections of pg-boss in each process, beside the given pool. */
const CONNECTIONS = 3;
/** Attempts that end with an error. Then the job ends as failed, and the session's next job runs. */
const MAX_FAILURES = 5;
/** Attempts of all kinds: those of killed workers are no fault of the job. */
const RETRY = { retryLimit: 50, retryDelay: 1, retryBackoff: true, retryDelayMax: 60 };
const EXPIRE_SECONDS = 12 * 60 * 60;
/** A killed worker's lease may still run when another one takes its job. */
const WAIT_FOR_LEASE_MS = 5 * 60_000;

export interface PromptJob {
  id: string;
  sessionId: string;
  prompt: string;
}

export interface JobOutcome {
  /** `done`, or why the work ended otherwise, such as `failed`. */
  status: string;
  detail?: string;
}

export interface ListedJob extends PromptJob {
  /** A job that ended is `completed`: its outcome says how. */
  state: "created" | "retry" | "active" | "completed" | "cancelled" | "failed";
  attempts: number;
  createdMs: number;
  outcome?: JobOutcome;
}

/** One attempt of a job. */
export interface JobAttempt {
  session: Session;
  /** True if an earlier attempt stored the prompt: continue the work, and do not send the prompt again. */
  isResumed: boolean;
  /** Call it in the same step that appended the prompt: both are stored in one transaction. */
  promptAppended(): void;
  /** Call it when the work has ended, if you close the session yourself. Default: called at the end of `run` */
  ended(): void;
  /** Aborted when another host has the session, or the worker stops. */
  signal: AbortSignal;
}

export interface WorkOptions {
  /** Jobs at a time. */
  concurrency: number;
  /** Works on one job. After an error, the job is tried again. */
  run: (job: PromptJob, attempt: JobAttempt) => Promise<JobOutcome>;
  onAttempt?: (job: PromptJob, event: "started" | "ended" | "failed", detail?: string) => void;
}

/** Prompts that wait for a worker. */
class SessionJobs {
  readonly #pool: pg.Pool;
  readonly #sessions: SharedSessions;
  readonly #onError: ((error: BonsaiError) => void) | undefined;
  readonly #stopping = new AbortController();
  #boss: Promise<PgBoss> | undefined;

  constructor(pool: pg.Pool, sessions: SharedSessions, onError?: (error: BonsaiError) => void) {
    this.#pool = pool;
    this.#sessions = sessions;
    this.#onError = onError;
  }

  /** Creates the tables of jobs. */
  async init(): Promise<void> {
    const boss = this.#newBoss({ migrate: true, createSchema: true, supervise: false });
    await withoutSecrets(async () => {
      await boss.start();
      if ((await boss.getQueue(QUEUE)) === null)
        await boss.createQueue(QUEUE, {
          ...{ policy: "key_strict_fifo", notify: true, ...RETRY },
          ...{ heartbeatSeconds: HEARTBEAT_SECONDS, expireInSeconds: EXPIRE_SECONDS },
        });
      await boss.stop({ graceful: false });
    });
  }

  /** Adds a prompt for a session. Returns the job's id. */
  async enqueue({ sessionId, prompt }: { sessionId: string; prompt: string }): Promise<string> {
    const boss = await this.#started({ supervise: false });
    const id = await withoutSecrets(() => boss.send(QUEUE, { prompt }, { singletonKey: sessionId }));
    return id!;
  }

  /** Newest first. */
  async list({ limit = 100, sessionId }: { limit?: number; sessionId?: string } = {}): Promise<ListedJob[]> {
    const rows = await query<ListedJob & { output: { status?: unknown } | null }>(
      this.#pool,
      `select id, singleton_key as "sessionId", data->>'prompt' as prompt, state, output,
         retry_count + (state <> 'created')::integer as attempts,
         floor(extract(epoch from created_on) * 1000)::float8 as "createdMs"
       from ${SCHEMA}.job
       where name = $1 and ($2::text is null or singleton_key = $2) order by created_on desc limit $3`,
      [QUEUE, sessionId ?? null, limit],
    );
    // The output of a failed attempt is an error.
    return rows.map(({ output, ...job }) =>
      typeof output?.status === "string" ? { ...job, outcome: output as JobOutcome } : job,
    );
  }

  /** Cancels a job that has not ended. */
  async cancel(id: string): Promise<void> {
    const boss = await this.#started({ supervise: false });
    await withoutSecrets(() => boss.cancel(QUEUE, id));
  }

  /** Runs jobs until `stop`. */
  async work({ concurrency, run, onAttempt = () => {} }: WorkOptions): Promise<void> {
    const boss = await this.#started({ supervise: true });
    const options = {
      ...{ batchSize: 1, includeMetadata: true as const, localConcurrency: concurrency },
      ...{ pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS },
    };
    await withoutSecrets(() =>
      boss.work<{ prompt: string }, JobOutcome, typeof options>(QUEUE, options, async ([stored]) => {
        const job = { id: stored!.id, sessionId: stored!.singletonKey!, prompt: stored!.data.prompt };
        onAttempt(job, "started");
        try {
          const outcome = await this.#attempt(job, stored!.signal, run);
          onAttempt(job, "ended", outcome.status);
          return outcome;
        } catch (error) {
          onAttempt(job, "failed", messageOf(error));
          if (stored!.retryCount < MAX_FAILURES || isInterruption(error) || this.#stopping.signal.aborted)
            // The error is stored with the job: it has no connection string.
            throw new Error(messageOf(databaseError(error)));
          return { status: "failed", detail: messageOf(error) };
        }
      }),
    );
  }

  /** Takes no more jobs. Running ones may end within the time; then they stop, and another worker continues them. */
  async stop({ graceMs = 0 }: { graceMs?: number } = {}): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined);
    if (boss === undefined) return;
    const ended = boss.offWork(QUEUE, { wait: true });
    const timer = setTimeout(() => this.#stopping.abort(new Error("The worker stops.")), graceMs);
    await ended.catch(() => {});
    clearTimeout(timer);
    await this.#sessions.settled().catch(() => {});
    await boss.stop({ graceful: false }).catch(() => {});
  }

  /** Opens the session, runs the job unless an earlier attempt has ended it, and stores its end. */
  async #attempt(job: PromptJob, ofJob: AbortSignal, run: WorkOptions["run"]): Promise<JobOutcome> {
    const signals = AbortSignal.any([ofJob, this.#stopping.signal]);
    const session = await this.#sessions.open(job.sessionId, { waitMs: WAIT_FOR_LEASE_MS, signal: signals });
    const store = sharedStoreOf(session)!;
    const leaveDrafts = () => store.drafts.leave();
    this.#stopping.signal.addEventListener("abort", leaveDrafts);
    const taken = new AbortController();
    void store.lost.then((error) => taken.abort(error));
    const call = { id: `job:${job.id}`, tool: "job", effects: "idempotent" } as const;
    let hasEnded = false;
    const ended = () => {
      hasEnded = true;
      store.note(call, "settled");
    };
    try {
      const state = await store.state(call.id);
      if (state === "settled") return { status: "done", detail: "An earlier attempt had ended it." };
      const outcome = await run(job, {
        session,
        isResumed: state === "started",
        promptAppended: () => store.note(call, "started"),
        ended,
        signal: AbortSignal.any([signals, taken.signal]),
      });
      if (!hasEnded) ended();
      session.close();
      await store.closed;
      return outcome;
    } finally {
      session.close();
      // After an error, the next opening on this host saves the rest.
      await store.closed.catch(() => {});
      this.#stopping.signal.removeEventListener("abort", leaveDrafts);
    }
  }

  #started(options: { supervise: boolean }): Promise<PgBoss> {
    this.#boss ??= withoutSecrets(async () => {
      const boss = this.#newBoss({ ...options, useListenNotify: options.supervise });
      await boss.start();
      return boss;
    });
    return this.#boss;
  }

  #newBoss(options: Partial<ConstructorOptions>): PgBoss {
    const boss = new PgBoss({
      ...(connectionOf(this.#pool) as ConstructorOptions),
      ...{ schema: SCHEMA, schedule: false, migrate: false, createSchema: false, max: CONNECTIONS },
      ...{ superviseIntervalSeconds: SUPERVISE_SECONDS, monitorIntervalSeconds: SUPERVISE_SECONDS },
      application_name: "bonsai jobs",
      ...options,
    });
    boss.on("error", (error) => this.#onError?.(databaseError(error)));
    return boss;
  }
}

/** @param options.onError called with failures between jobs, such as a server that is away */
export function sessionJobs(options: {
  pool: pg.Pool;
  sessions: SharedSessions;
  onError?: (error: BonsaiError) => void;
}): SessionJobs {
  return new SessionJobs(options.pool, options.sessions, options.onError);
}
export type { SessionJobs };

/** True for errors that are no fault of the job. */
function isInterruption(error: unknown): boolean {
  const codes = ["session_lease_lost", "session_leased"];
  return isTransientError(error) || (BonsaiError.is(error) && codes.includes(error.code));
}
