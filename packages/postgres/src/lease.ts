import { BonsaiError } from "@bonsai-agent/messages";
import type pg from "pg";
import { query, retry } from "./database.ts";

/** A host renews its lease this many times before it would expire. */
const RENEWALS = 3;

interface LeaseOptions {
  pool: pg.Pool;
  sessionId: string;
  /** Grows with each opening for writing. */
  fence: number;
  leaseMs: number;
  /** When the lease was asked for, by `performance.now()`. */
  askedAtMs: number;
}

/**
 * The right of one host to write to a session. The database's clock decides when it expires, so the clocks of hosts do not
 * matter; a host measures only how long ago its lease was confirmed.
 */
export class Lease {
  readonly sessionId: string;
  readonly fence: number;
  readonly leaseMs: number;
  readonly #pool: pg.Pool;
  readonly #timer: NodeJS.Timeout;
  readonly #lost = Promise.withResolvers<BonsaiError>();
  #confirmedAtMs: number;
  #loss: BonsaiError | undefined;
  #isReleased = false;
  /** Added to the error of a lost lease. */
  #rescue: () => string | undefined = () => undefined;

  constructor({ pool, sessionId, fence, leaseMs, askedAtMs }: LeaseOptions) {
    this.#pool = pool;
    this.sessionId = sessionId;
    this.fence = fence;
    this.leaseMs = leaseMs;
    this.#confirmedAtMs = askedAtMs;
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), leaseMs / RENEWALS);
    this.#timer.unref();
  }

  /** Resolves with the error once another host took the session. */
  get lost(): Promise<BonsaiError> {
    return this.#lost.promise;
  }

  /** @param rescue saves the lines that are not stored, and returns the path of their file */
  onLoss(rescue: () => string | undefined): void {
    this.#rescue = rescue;
  }

  /** @throws BonsaiError `session_lease_lost` if another host is known to have the session */
  check(): void {
    if (this.#loss !== undefined) throw this.#loss;
  }

  /** Notes a renewal, by the time when its statement was sent. */
  renewed(atMs: number): void {
    this.#confirmedAtMs = Math.max(this.#confirmedAtMs, atMs);
  }

  /** Milliseconds since the last renewal: no other host has the session for the time of a lease after it. */
  get unconfirmedMs(): number {
    return performance.now() - this.#confirmedAtMs;
  }

  /** Asks the database if half of the lease is over, as after a pause of the process. @throws as `check` */
  async confirm(): Promise<void> {
    this.check();
    while (this.unconfirmedMs > this.leaseMs / 2) {
      await retry(() => this.#renew());
      this.check();
    }
  }

  /** Marks the lease as lost. @throws BonsaiError `session_lease_lost` */
  lose(): never {
    if (this.#loss === undefined) {
      clearInterval(this.#timer);
      const file = this.#rescue();
      this.#loss = new BonsaiError({
        code: "session_lease_lost",
        message: `Another process opened or deleted the session ${this.sessionId}. This process can no longer write to it.`,
        hint:
          file === undefined
            ? "Nothing is lost: the database has all entries. Open the session again to continue."
            : `Entries that the database lacks are in ${file}. \`bonsai session push\` adds them as a branch.`,
      });
      this.#lost.resolve(this.#loss);
    }
    throw this.#loss;
  }

  /** Gives the session back, so that the next host need not wait. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#loss !== undefined) return;
    // A renewal that is still under way finds no lease and changes nothing.
    this.#isReleased = true;
    await query(
      this.#pool,
      "update bonsai.sessions set owner = null, lease_until = null where id = $1 and fence = $2",
      [this.sessionId, this.fence],
    );
  }

  async #renew(): Promise<void> {
    if (this.#loss !== undefined) return;
    const sentMs = performance.now();
    const rows = await query(
      this.#pool,
      `update bonsai.sessions set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       where id = $1 and fence = $2 and lease_until is not null returning 1`,
      [this.sessionId, this.fence, this.leaseMs],
    );
    if (this.#isReleased) return;
    if (rows.length === 0) this.lose();
    this.renewed(sentMs);
  }
}
