import { sleep } from "@bonsai-agent/messages/host";
import type pg from "pg";
import { isTransientError, query, withoutSecrets } from "./database.ts";
import { storedParts } from "./segment.ts";

/** Without a notification, as from a server that pools transactions, the watcher asks again after this time. */
const POLL_MS = 2_000;
const WATCHED_SECONDS = 60;

/** As `SharedSessions.watch`. */
export async function* watchSession(
  pool: pg.Pool,
  id: string,
  { from = 0, signal }: { from?: number; signal?: AbortSignal },
): AsyncGenerator<Buffer> {
  let pause = new AbortController();
  const endPause = () => pause.abort();
  signal?.addEventListener("abort", endPause);
  const listener = new Listener(pool, id, endPause);
  try {
    for (let at = from; signal?.aborted !== true; ) {
      const size = await listener.sizeNow();
      if (size === undefined) return;
      if (size > at)
        for await (const part of storedParts(pool, id, [{ from: at, until: size }])) {
          yield part.bytes.subarray(at - part.from);
          at = part.from + part.bytes.length;
        }
      else {
        // Growth since `sizeNow` has ended this pause before it begins.
        await sleep(POLL_MS, pause.signal);
        pause = new AbortController();
      }
    }
  } finally {
    signal?.removeEventListener("abort", endPause);
    listener.close();
  }
}

/** Hears notifications on a connection of its own, which it opens again after a loss. */
class Listener {
  readonly #pool: pg.Pool;
  readonly #id: string;
  readonly #onGrowth: () => void;
  #connection: pg.PoolClient | undefined;
  #size = 0;

  constructor(pool: pg.Pool, id: string, onGrowth: () => void) {
    this.#pool = pool;
    this.#id = id;
    this.#onGrowth = onGrowth;
  }

  /** The stored bytes; undefined for a deleted session. While the server is away, those of the last time. */
  async sizeNow(): Promise<number | undefined> {
    try {
      this.#connection ??= await this.#listen();
      // Appends notify only while somebody watches: notifications of one database are sent one after the other.
      const [row] = await query<{ bytes: string; watched: boolean }>(
        this.#pool,
        `select bytes, coalesce(watched_until > clock_timestamp() + interval '10 seconds', false) as watched
         from bonsai.sessions where id = $1`,
        [this.#id],
      );
      if (row === undefined) return undefined;
      if (!row.watched) await this.#announce();
      this.#size = Number(row.bytes);
    } catch (error) {
      if (!isTransientError(error)) throw error;
      this.close();
    }
    return this.#size;
  }

  close(): void {
    this.#connection?.release(true);
    this.#connection = undefined;
  }

  /** A role that may only read polls. */
  async #announce(): Promise<void> {
    await query(
      this.#pool,
      "update bonsai.sessions set watched_until = clock_timestamp() + $2 * interval '1 second' where id = $1",
      [this.#id, WATCHED_SECONDS],
    ).catch(() => {});
  }

  async #listen(): Promise<pg.PoolClient> {
    const connection = await withoutSecrets(() => this.#pool.connect());
    connection.on("error", () => {
      if (connection === this.#connection) this.close();
    });
    connection.on("notification", ({ payload }) => {
      if (payload === this.#id) this.#onGrowth();
    });
    try {
      await query(connection, "listen bonsai");
    } catch (error) {
      connection.release(true);
      throw error;
    }
    return connection;
  }
}
