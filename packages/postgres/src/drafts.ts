import { createHash } from "node:crypto";
import { sleep } from "@bonsai-agent/messages/host";
import type { DraftAnswer, DraftRequest, SummaryDrafts } from "@bonsai-agent/session";
import type pg from "pg";
import { isTransientError, query } from "./database.ts";
import type { Lease } from "./lease.ts";
import { storable } from "./lines.ts";

// The owner's side of drafts: requests for the summaries of compactions, and their answers. The owner of a session is the
// host that writes it. A row is also the job: a queue would not keep tenants apart, and each owner would need more rights
// and connections.

/** The owner makes the summary itself if no worker has it for this share of the owner's lease: 5 seconds by default. */
const WAIT_SHARE = 1 / 9;
const MAX_POLL_MS = 250;

/** Asks workers for the summaries of a session that this host writes. */
export class SessionDrafts implements SummaryDrafts {
  readonly #pool: pg.Pool;
  readonly #lease: Lease;
  readonly #durable: () => Promise<void>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Hashes of the requests since the last `clear`. */
  #asked: string[] = [];
  #isLeft = false;

  /** @param durable waits until everything appended is stored */
  constructor({ pool, lease }: { pool: pg.Pool; lease: Lease }, durable: () => Promise<void>) {
    this.#pool = pool;
    this.#lease = lease;
    this.#durable = durable;
  }

  ask(request: DraftRequest, signal: AbortSignal): Promise<DraftAnswer | undefined> {
    // After a failure of the database, the owner makes the summary itself.
    return this.#track(this.#ask(request, signal).catch(() => undefined));
  }

  clear(): void {
    const asked = this.#asked.splice(0);
    // Drafts that stay are deleted with their session.
    if (asked.length > 0 && !this.#isLeft) void this.#track(this.#clear(asked).catch(() => {}));
  }

  /** Leaves requests and answers to the next owner, which may ask for the same. This host must stop its work. */
  leave(): void {
    this.#isLeft = true;
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
    const end = AbortSignal.any([signal, this.#closing.signal]);
    const { sessionId, fence, leaseMs } = this.#lease;
    const waitMs = leaseMs * WAIT_SHARE;
    const key = [sessionId, hash, fence];
    this.#asked.push(hash);
    let [draft] = await query<Draft>(this.#pool, ASK, [...key, storable(request.model), text]);
    for (let runningMs = performance.now(); draft !== undefined; draft = await this.#read(key)) {
      if (draft.answer !== null) return JSON.parse(draft.answer) as DraftAnswer;
      if (draft.running) runningMs = performance.now();
      await sleep(Math.min(MAX_POLL_MS, waitMs / 4), end);
      if (end.aborted && this.#isLeft) break;
      const isOver = performance.now() - runningMs > waitMs;
      if (end.aborted || isOver) await query(this.#pool, WITHDRAW, [...key, end.aborted]);
      if (end.aborted) break;
    }
    return undefined;
  }

  /** The draft as it is now. While the server is away, it counts as not running. */
  async #read(key: readonly unknown[]): Promise<Draft | undefined> {
    try {
      return (await query<Draft>(this.#pool, READ, key, "bonsai_draft"))[0];
    } catch (error) {
      if (!isTransientError(error)) throw error;
      return { answer: null, running: false };
    }
  }

  /** Deletes these drafts of this host, and all that earlier hosts left. */
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

interface Draft {
  /** A `DraftAnswer` as JSON. */
  answer: string | null;
  /** True while a worker makes the summary. */
  running: boolean;
}

const DRAFT_COLUMNS = "answer, coalesce(d.worker_until > clock_timestamp(), false) as running";

/** Adds the draft if this host has the session, or takes over that of an earlier host. */
const ASK = `
insert into bonsai.drafts as d (session_id, request_hash, fence, model, request)
select id, $2, fence, $4, $5 from bonsai.sessions where id = $1 and fence = $3
on conflict (session_id, request_hash) do update set fence = excluded.fence, asked_at = clock_timestamp()
returning ${DRAFT_COLUMNS}`;

const READ = `
select ${DRAFT_COLUMNS} from bonsai.drafts d where session_id = $1 and request_hash = $2 and fence = $3`;

/** Keeps a draft that a worker has just taken, unless the owner cancels. */
const WITHDRAW = `
delete from bonsai.drafts where session_id = $1 and request_hash = $2 and fence = $3
  and ($4 or answer is null and coalesce(worker_until, '-infinity') < clock_timestamp())`;
