import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import type { BonsaiError } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import {
  bonsaiHome,
  createSession,
  openSession,
  type Session,
  type SessionStore,
} from "@bonsai-agent/session";
import { addMissingEntries, makeFolder, readFrom, streamNewFile } from "@bonsai-agent/session/host";
import type pg from "pg";
import { query } from "./database.ts";
import { Lease } from "./lease.ts";
import { saveLeftovers } from "./leftovers.ts";
import {
  type ListOptions,
  listShared,
  type SearchOptions,
  type SharedHit,
  type SharedSessionSummary,
  searchShared,
} from "./listing.ts";
import { ambiguous, leased, notFound, sessionExists, tooOld } from "./refusals.ts";
import { storedParts } from "./segment.ts";
import { SharedStore } from "./shared-store.ts";
import { watchSession } from "./watch.ts";

export interface SharedSessionsOptions {
  pool: pg.Pool;
  /** Names this host to others, such as `host:process`. */
  owner: string;
  /** Time after which other hosts may take the session of a host that no longer renews its lease. Default: 45 seconds */
  leaseMs?: number;
  /** Folder of the working copies. Default: `shared` in `bonsaiHome()` */
  folder?: string;
}

const DEFAULT_LEASE_MS = 45_000;
/** A waiting host asks again after this time. */
const WAIT_STEP_MS = 500;

export interface OpenSharedOptions {
  /** Milliseconds to wait for another host's lease. Default: 0 */
  waitMs?: number;
  /** True to load the whole session at once, so that it has a file from the start. Default: only its end */
  isWhole?: boolean;
  /**
   * True to append the lines that an earlier run on this host could not store, if no other host wrote since. Default: they
   * are saved to a file, which `bonsai session push` adds as a branch
   */
  appendsLeftovers?: boolean;
  /** Called with each file of lines that an earlier run on this host could not store. */
  onLeftovers?: (file: string) => void;
  /** Aborts the wait. */
  signal?: AbortSignal;
}

/** The row of a session that this host has taken. */
interface TakenSession {
  fence: number;
  bytes: number;
  indexedBytes: number;
  knowsFirstWords: boolean;
}

/** The sessions in one database. */
export class SharedSessions {
  readonly #pool: pg.Pool;
  readonly #owner: string;
  readonly #leaseMs: number;
  readonly #folder: string;
  readonly #closing = new Set<Promise<void>>();

  constructor({ pool, owner, leaseMs = DEFAULT_LEASE_MS, folder }: SharedSessionsOptions) {
    this.#pool = pool;
    this.#owner = owner;
    this.#leaseMs = leaseMs;
    this.#folder = folder ?? join(bonsaiHome(), "shared");
    makeFolder(this.#folder);
  }

  /** Starts a session, which this host may write. @throws BonsaiError `session_exists` */
  async create(options: { cwd: string; id?: string; parentSession?: string }): Promise<Session> {
    const { id = crypto.randomUUID(), cwd, parentSession } = options;
    const store = await this.#createStore(id, cwd, parentSession);
    return createSession({ ...options, id, store });
  }

  /**
   * Opens a session for writing: no other host can write from then on.
   * @throws BonsaiError `session_not_found`, `session_leased`: another host works on it
   */
  async open(id: string, options: OpenSharedOptions = {}): Promise<Session> {
    const store = await this.#openStore(id, options);
    const { appendsLeftovers: appends = false, onLeftovers } = options;
    for (const file of saveLeftovers(store, { folder: this.#folder, id, appends })) onLeftovers?.(file);
    try {
      return openSession({ store });
    } catch (error) {
      store.close();
      throw error;
    }
  }

  /** The id that is this one or begins with it. @throws BonsaiError `session_not_found`, `session_ambiguous` */
  async find(id: string): Promise<string> {
    const rows = await query<{ id: string }>(
      this.#pool,
      "select id from bonsai.sessions where starts_with(id, $1) order by id <> $1, id limit 2",
      [id],
    );
    if (rows.length === 0) throw notFound(id);
    if (rows.length > 1 && rows[0]!.id !== id) throw ambiguous(id);
    return rows[0]!.id;
  }

  /** Latest activity first. */
  list(options?: ListOptions): Promise<SharedSessionSummary[]> {
    return listShared(this.#pool, options);
  }

  /** Finds entries by words, then by similar words. */
  search(text: string, options?: SearchOptions): Promise<SharedHit[]> {
    return searchShared(this.#pool, text, options);
  }

  /** @throws BonsaiError `session_not_found`, `session_leased` */
  async delete(id: string): Promise<void> {
    const rows = await query(
      this.#pool,
      `delete from bonsai.sessions
       where id = $1 and coalesce(lease_until, '-infinity') < clock_timestamp() returning 1`,
      [id],
    );
    if (rows.length === 0) throw await this.#refusal(id);
  }

  /** Yields the stored bytes from an offset on, then new ones as they are stored, until the signal or the deletion. */
  watch(id: string, options: { from?: number; signal?: AbortSignal } = {}): AsyncGenerator<Buffer> {
    return watchSession(this.#pool, id, options);
  }

  /**
   * Stores a session file, byte for byte, or the entries that a stored session with the same id lacks: as a branch, unless
   * the file has all entries of the stored session.
   * @throws BonsaiError `session_leased`, `session_too_old`
   */
  async push(file: string): Promise<{ id: string; bytes: number; isBranch: boolean }> {
    const session = openSession(file);
    session.close();
    const { id, cwd, parentSession, version } = session.header;
    if (version !== 3) throw tooOld(file);
    const existing = await query(this.#pool, "select 1 from bonsai.sessions where id = $1", [id]);
    if (existing.length > 0) return { id, ...(await this.#pushEntries(id, file)) };
    const store = await this.#createStore(id, cwd, parentSession);
    return { id, bytes: await this.#storeFile(store, file), isBranch: false };
  }

  /** Writes a session to a new file, byte for byte. @throws BonsaiError `session_not_found`, `session_exists` */
  async pull(id: string, file: string): Promise<void> {
    const [stored] = await query<{ bytes: number }>(
      this.#pool,
      "select bytes::float8 as bytes from bonsai.sessions where id = $1",
      [id],
    );
    if (stored === undefined) throw notFound(id);
    await streamNewFile(file, this.#bytesOf(id, stored.bytes));
  }

  async *#bytesOf(id: string, size: number): AsyncGenerator<Buffer> {
    for await (const { bytes } of storedParts(this.#pool, id, [{ from: 0, until: size }])) yield bytes;
  }

  /** Resolves when all closed sessions are stored. @throws the first failure */
  async settled(): Promise<void> {
    const failed = (await Promise.allSettled(this.#closing)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async #createStore(id: string, cwd: string, parentSession: string | null = null): Promise<SharedStore> {
    const askedAtMs = performance.now();
    const values = [id, this.#owner, this.#leaseMs, cwd, parentSession];
    const [taken] = await query<TakenSession>(this.#pool, CREATE, values);
    if (taken === undefined) throw sessionExists(id);
    return this.#storeOf(id, taken, { askedAtMs });
  }

  async #openStore(
    id: string,
    { waitMs = 0, isWhole, signal }: OpenSharedOptions = {},
  ): Promise<SharedStore> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const askedAtMs = performance.now();
      const [taken] = await query<TakenSession>(this.#pool, TAKE, [id, this.#owner, this.#leaseMs]);
      if (taken !== undefined) return this.#storeOf(id, taken, { askedAtMs, isWhole });
      const refusal = await this.#refusal(id);
      if (refusal.code !== "session_leased" || performance.now() >= untilMs) throw refusal;
      await sleep(Math.min(WAIT_STEP_MS, this.#leaseMs / 4), signal);
    }
  }

  async #storeOf(
    id: string,
    { fence, bytes, indexedBytes, knowsFirstWords }: TakenSession,
    { askedAtMs, isWhole }: { askedAtMs: number; isWhole?: boolean | undefined },
  ): Promise<SharedStore> {
    const lease = new Lease({ pool: this.#pool, sessionId: id, fence, leaseMs: this.#leaseMs, askedAtMs });
    const options = {
      ...{ pool: this.#pool, lease, folder: this.#folder, storedBytes: bytes, indexedBytes, knowsFirstWords },
      onClose: (closed: Promise<void>) => this.#track(closed),
    };
    try {
      return await SharedStore.open(options, isWhole);
    } catch (error) {
      await lease.release().catch(() => {});
      throw error;
    }
  }

  #track(closed: Promise<void>): void {
    this.#closing.add(closed);
    // `settled` reports a failure; without a caller, the lines stay in the working copy.
    closed.then(
      () => this.#closing.delete(closed),
      () => {},
    );
  }

  async #refusal(id: string): Promise<BonsaiError> {
    const [row] = await query<{ owner: string | null; seconds: number | null }>(
      this.#pool,
      `select owner, ceil(extract(epoch from lease_until - clock_timestamp()))::integer as seconds
       from bonsai.sessions where id = $1`,
      [id],
    );
    if (row === undefined) return notFound(id);
    return leased(id, row.owner ?? "another host", Math.max(1, row.seconds ?? 1));
  }

  async #storeFile(store: SharedStore, file: string): Promise<number> {
    const fd = openSync(file, "r");
    try {
      const { size } = fstatSync(fd);
      for (let at = 0; at < size; ) {
        const chunk = Buffer.alloc(Math.min(COPIED_BYTES, size - at));
        at += readFrom(fd, chunk, at);
        store.append(chunk);
        await store.durable();
      }
      store.storeTornLine();
      await store.durable();
      return size;
    } finally {
      closeSync(fd);
      store.close();
      await store.closed;
    }
  }

  async #pushEntries(id: string, file: string): Promise<{ bytes: number; isBranch: boolean }> {
    const store = await this.#openStore(id);
    const other = openSession(file);
    try {
      const added = addMissingEntries(openSession({ store }), other);
      await store.durable();
      return added;
    } finally {
      other.close();
      store.close();
      await store.closed;
    }
  }
}

/** Shares sessions between hosts in a PostgreSQL database. */
export function sharedSessions(options: SharedSessionsOptions): SharedSessions {
  return new SharedSessions(options);
}

const COPIED_BYTES = 1 << 20;

/** The store of a shared session; undefined for a session of this host alone. */
export function sharedStoreOf({ store }: { store: SessionStore }): SharedStore | undefined {
  return store instanceof SharedStore ? store : undefined;
}

const TAKEN_COLUMNS = `fence::float8 as fence, bytes::float8 as bytes, indexed_bytes::float8 as "indexedBytes",
  first_words is not null as "knowsFirstWords"`;

const CREATE = `
insert into bonsai.sessions (id, owner, lease_until, cwd, parent_session, fence)
values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond', $4, $5, 1)
on conflict do nothing returning ${TAKEN_COLUMNS}`;

/** Takes a session whose lease is over. Two hosts that try at once wait for the row; the second finds a new lease. */
const TAKE = `
update bonsai.sessions
set fence = fence + 1, owner = $2, lease_until = clock_timestamp() + $3 * interval '1 millisecond'
where id = $1 and coalesce(lease_until, '-infinity') < clock_timestamp()
returning ${TAKEN_COLUMNS}`;
