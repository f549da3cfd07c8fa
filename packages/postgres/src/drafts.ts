import { createHash } from "node:crypto";
import { sleep } from "@bonsai-agent/messages/host";
import type { DraftAnswer, DraftRequest, SummaryDrafts } from "@bonsai-agent/session";
import type pg from "pg";
import { isTransientError, query } from "./database.ts";
import type { Lease } from "./lease.ts";
import { storable } from "./lines.ts";

// Requests for summaries, and their answers: the drafts of compactions. A row is also the job. A queue beside it would not
// keep tenants apart, and each owner would need rights and connections for it.

/** The owner makes the summary itself if no worker is at it for this share of its lease: 5 seconds by default. */
const WAIT_SHARE = 1 / 9;
const MAX_POLL_MS = 250;

/** The drafts of a session that this host writes. */
export class SessionDrafts implements SummaryDrafts {
  readonly #pool: pg.Pool;
  readonly #lease: Lease;
  readonly #durable: () => Promise<void>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Hashes of the requests since the last `clear`. */
  #asked: string[] = [];

  /** @param durable waits until everything appended is stored */
  constructor({ pool, lease }: { pool: pg.Pool; lease: Lease }, durable: () => Promise<void>) {
    this.#pool = pool;
    this.#lease = lease;
    this.#durable = durable;
  }

  ask(request: DraftRequest, signal: AbortSignal): Promise<DraftAnswer | undefined> {
    // Without the database, the owner makes the summary itself.
    return this.#track(this.#ask(request, signal).catch(() => undefined));
  }

  clear(): void {
    const asked = this.#asked.splice(0);
    if (asked.length > 0) void this.#track(this.#clear(asked).catch(() => {}));
  }

  /** Withdraws the open requests. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work);
    return work.finally(() => this.#running.delete(work));
  }

  async #ask(request: DraftRequest, signal: AbortSignal): Promise<DraftAnswer | undefined> {
    const text = JSON.stringify(request);
    const hash = createHash("sha256").update(text).digest("hex");
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    const { sessionId, fence, leaseMs } = this.#lease;
    const waitMs = leaseMs * WAIT_SHARE;
    const key = [sessionId, hash, fence];
    this.#asked.push(hash);
    let [draft] = await query<Draft>(this.#pool, ASK, [...key, storable(request.model), text]);
    for (let seenMs = performance.now(); draft !== undefined; draft = await this.#read(key)) {
      if (draft.answer !== null) return JSON.parse(draft.answer) as DraftAnswer;
      if (draft.running) seenMs = performance.now();
      await sleep(Math.min(MAX_POLL_MS, waitMs / 4), ended);
      const isOver = performance.now() - seenMs > waitMs;
      if (ended.aborted || isOver) await query(this.#pool, WITHDRAW, [...key, ended.aborted]);
      if (ended.aborted) break;
    }
    return undefined;
  }

  /** The draft as it is now. While the server is away, no worker is known to be at it. */
  async #read(key: readonly unknown[]): Promise<Draft | undefined> {
    try {
      return (await query<Draft>(this.#pool, READ, key, "bonsai_draft"))[0];
    } catch (error) {
      if (!isTransientError(error)) throw error;
      return { answer: null, running: false };
    }
  }

  /** Deletes drafts of this host, and those that an earlier host left. */
  async #clear(hashes: readonly string[]): Promise<void> {
    await this.#durable();
    const { sessionId, fence } = this.#lease;
    await query(
      this.#pool,
      "delete from bonsai.drafts where session_id = $1 and (fence < $2 or fence = $2 and request_hash = any($3))",
      [sessionId, fence, hashes],
    );
  }
}

interface Draft extends Record<string, unknown> {
  answer: string | null;
  /** True if a worker is at it. */
  running: boolean;
}

const DRAFT_COLUMNS = "answer, coalesce(d.worker_until > clock_timestamp(), false) as running";

/** A host without the session's lease asks for nothing. */
const ASK = `
insert into bonsai.drafts as d (session_id, request_hash, fence, model, request)
select id, $2, fence, $4, $5 from bonsai.sessions where id = $1 and fence = $3
on conflict (session_id, request_hash) do update set fence = excluded.fence, asked_at = clock_timestamp()
returning ${DRAFT_COLUMNS}`;

const READ = `
select ${DRAFT_COLUMNS} from bonsai.drafts d where session_id = $1 and request_hash = $2 and fence = $3`;

/** Without an abort, a worker that began in the last moment may end. */
const WITHDRAW = `
delete from bonsai.drafts where session_id = $1 and request_hash = $2 and fence = $3
  and ($4 or answer is null and coalesce(worker_until, '-infinity') < clock_timestamp())`;
