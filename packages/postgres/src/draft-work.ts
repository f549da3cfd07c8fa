import type { BonsaiError } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import type { DraftAnswer, DraftRequest } from "@bonsai-agent/session";
import type pg from "pg";
import { databaseError, isTransientError, query, retry } from "./database.ts";

// The workers' side of drafts.

const DEFAULT_LEASE_MS = 15_000;
/** A worker renews its lease this many times before it would expire. */
const RENEWALS = 5;
const POLL_MS = 500;
/** An unknown model is tried again after this many leases: its key may have been added. */
const UNKNOWN_LEASES = 4;

/** A draft that a worker makes. */
interface TakenDraft {
  session_id: string;
  request_hash: string;
  model: string;
  /** A `DraftRequest` as JSON. */
  request: string;
  attempt: number;
}

interface MakeDraftsOptions {
  pool: pg.Pool;
  /** Drafts at a time. */
  concurrency: number;
  /** Asks a model. After an error, the owner makes the summary itself. */
  make: (draft: { sessionId: string; request: DraftRequest; signal: AbortSignal }) => Promise<DraftAnswer>;
  /** False for a model that this host cannot ask: it leaves the drafts to others. */
  knows: (model: string) => Promise<boolean>;
  /** Ends the work. */
  signal: AbortSignal;
  /** Running drafts may end within this time after the signal. Then another worker can take them. Default: 0 */
  graceMs?: number;
  /** Time after which another worker can take the draft of a dead one. Default: 15 seconds */
  leaseMs?: number;
  onDraft?: (draft: { sessionId: string; model: string }, event: "started" | "ended" | "failed") => void;
  /** Called with failures of the database. */
  onError?: (error: BonsaiError) => void;
}

/** Makes summaries for the owners of shared sessions, until the signal. */
export async function makeDrafts(options: MakeDraftsOptions): Promise<void> {
  const { concurrency, signal, graceMs = 0, onError = () => {} } = options;
  const running = new Set<Promise<void>>();
  const triesAgainMs = new Map<string, number>();
  const stop = new AbortController();
  while (!signal.aborted) {
    const draft = running.size < concurrency ? await take(options, triesAgainMs).catch(report) : undefined;
    if (draft === undefined) await sleep(POLL_MS, signal);
    else {
      const work = makeDraft(draft, options, stop.signal).catch(report);
      running.add(work);
      void work.finally(() => running.delete(work));
    }
  }
  const timer = setTimeout(() => stop.abort(new Error("The worker stops.")), graceMs);
  await Promise.all(running);
  clearTimeout(timer);

  function report(error: unknown): undefined {
    onError(databaseError(error));
  }
}

/**
 * Takes the oldest open draft, except those of unknown models. Returns undefined also if another worker was faster.
 * @param triesAgainMs when each unknown model is tried again
 */
async function take(
  { pool, knows, leaseMs = DEFAULT_LEASE_MS }: MakeDraftsOptions,
  triesAgainMs: Map<string, number>,
): Promise<TakenDraft | undefined> {
  const nowMs = performance.now();
  for (const [model, atMs] of triesAgainMs) if (atMs <= nowMs) triesAgainMs.delete(model);
  const [open] = await query<TakenDraft>(pool, FIND, [[...triesAgainMs.keys()]], "bonsai_find_draft");
  if (open === undefined) return undefined;
  if (await knows(open.model))
    return (await query<TakenDraft>(pool, TAKE, [open.session_id, open.request_hash, leaseMs]))[0];
  triesAgainMs.set(open.model, nowMs + UNKNOWN_LEASES * leaseMs);
  return undefined;
}

async function makeDraft(draft: TakenDraft, options: MakeDraftsOptions, stop: AbortSignal): Promise<void> {
  const { pool, make, leaseMs = DEFAULT_LEASE_MS, onDraft = () => {} } = options;
  const { session_id: sessionId, request_hash, model, attempt } = draft;
  /** Changes the draft. Returns false if another worker has it, or its owner withdrew it. */
  const update = async (change: string, value: unknown): Promise<boolean> => {
    const values = [sessionId, request_hash, attempt, value];
    const sentMs = performance.now();
    const rows = await query(pool, `update bonsai.drafts set ${change} ${MINE}`, values);
    leasedUntilMs = sentMs + leaseMs;
    return rows.length > 0;
  };
  let leasedUntilMs = performance.now() + leaseMs;
  const isLeased = () => performance.now() < leasedUntilMs;
  const lost = new AbortController();
  const renew = async () => {
    const isMine = await update(LEASE, leaseMs).catch((error) => isTransientError(error) && isLeased());
    if (!isMine) lost.abort(new Error("The summary is no longer needed from this worker."));
  };
  const timer = setInterval(() => void renew(), leaseMs / RENEWALS);
  onDraft({ sessionId, model }, "started");
  const signal = AbortSignal.any([stop, lost.signal]);
  const request = JSON.parse(draft.request) as DraftRequest;
  const answer = await make({ sessionId, request, signal }).catch(() => FAILED);
  clearInterval(timer);
  const isMade = answer.stopReason === "stop";
  // Another worker can take the draft of a stopped one at once.
  const [change, value] = stop.aborted && !isMade ? [LEASE, 0] : ["answer = $4", JSON.stringify(answer)];
  const isStored = await retry(() => update(change, value), isLeased);
  onDraft({ sessionId, model }, isMade && isStored ? "ended" : "failed");
}

const FAILED: DraftAnswer = { text: "", stopReason: "error" };

/** Excludes drafts of dead owners after a minute, and those that two workers did not survive. */
const IS_OPEN = `answer is null and attempt < 2
  and coalesce(worker_until, '-infinity') < clock_timestamp()
  and greatest(asked_at, worker_until) > clock_timestamp() - interval '1 minute'`;

const FIND = `
select session_id, request_hash, model from bonsai.drafts
where ${IS_OPEN} and model <> all($1) order by asked_at limit 1`;

/** If two workers try at once, the second one finds the draft taken. */
const TAKE = `
update bonsai.drafts set attempt = attempt + 1, worker_until = clock_timestamp() + $3 * interval '1 millisecond'
where session_id = $1 and request_hash = $2 and ${IS_OPEN}
returning session_id, request_hash, model, request, attempt`;

const MINE = "where session_id = $1 and request_hash = $2 and attempt = $3 and answer is null returning 1";
const LEASE = "worker_until = clock_timestamp() + $4 * interval '1 millisecond'";
