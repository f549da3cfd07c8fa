/** Failures in a row after which automatic compaction pauses. */
const FAILURES = 3;
/** So many compactions within so many requests: the context fills up as fast as it is emptied. */
const COMPACTIONS = 3;
const WITHIN_REQUESTS = 3;

/** Owner of the record that pauses automatic compaction when it does not help. */
export class CompactionBreaker {
  #failures = 0;
  #requests = 0;
  /** The request counts at which compactions happened, latest last. */
  #compactedAt: number[] = [];
  /** True from when compactions were seen not to help until something else does. */
  #isOverfull = false;

  requestAnswered(): void {
    this.#requests += 1;
  }

  failed(): void {
    this.#failures += 1;
  }

  compacted(): void {
    this.#failures = 0;
    this.#compactedAt = [...this.#compactedAt, this.#requests].slice(-COMPACTIONS);
  }

  close(): void {
    this.#failures = 0;
    this.#compactedAt = [];
    this.#isOverfull = false;
  }

  /** The context is below the threshold. */
  relieved(): void {
    this.#isOverfull = false;
  }

  /** Why compaction by threshold is paused; undefined while it is not. */
  whyOpen(): string | undefined {
    if (this.#failures >= FAILURES) return `${this.#failures} compactions in a row failed`;
    this.#isOverfull ||= this.#fillsUpAtOnce();
    if (!this.#isOverfull) return undefined;
    return `${COMPACTIONS} compactions within ${WITHIN_REQUESTS} requests did not keep the context small`;
  }

  #fillsUpAtOnce(): boolean {
    const oldest = this.#compactedAt[0];
    if (this.#compactedAt.length < COMPACTIONS || oldest === undefined) return false;
    return this.#requests - oldest <= WITHIN_REQUESTS;
  }
}
