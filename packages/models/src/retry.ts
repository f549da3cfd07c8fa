import type { ModelFailure } from "./failure.ts";

/** When and how often a failed request is repeated. */
export interface RetryPolicy {
  /** Attempts after the first. Default 5. */
  maxRetries: number;
  /** Wait before the first retry; it doubles each time, with up to a quarter of jitter. Default 1,000. */
  baseDelayMs: number;
  /** Default 60,000. A `retry-after` above it ends the request with an error that names the wait. */
  maxDelayMs: number;
  /** A stream that sends nothing for so long is taken for dead. Default 300,000; 0 waits for ever. */
  silenceMs: number;
  /**
   * A stream that brings no text, no thinking and no call for so long is ended, whatever signs of life it gives. Default
   * 600,000; 0 waits for ever.
   */
  contentMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 5,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  silenceMs: 300_000,
  contentMs: 600_000,
};

/** A retry that is due. */
export interface PlannedRetry {
  /** 1 for the first retry. */
  attempt: number;
  maxAttempts: number;
  delayMs: number;
}

/** The retries of one request. Owner of how many have been used. */
export class RetryBudget {
  readonly #policy: RetryPolicy;
  readonly #random: () => number;
  #used = 0;
  #usedOnce = 0;

  /** @param random from 0 up to, not including, 1 */
  constructor(policy: RetryPolicy, random: () => number) {
    this.#policy = policy;
    this.#random = random;
  }

  /** The wait before the same request is sent again; undefined where it must not be, or not any more. */
  next({ retryable, retryOnce, retryAfterMs }: ModelFailure): PlannedRetry | undefined {
    const { maxRetries, maxDelayMs } = this.#policy;
    if (!retryable || this.#used >= maxRetries || (retryAfterMs ?? 0) > maxDelayMs) return undefined;
    if (retryOnce && this.#usedOnce > 0) return undefined;
    this.#used += 1;
    if (retryOnce) this.#usedOnce += 1;
    const count = retryOnce
      ? { attempt: 1, maxAttempts: 1 }
      : { attempt: this.#used, maxAttempts: maxRetries };
    return { ...count, delayMs: Math.round(retryAfterMs || this.#backoffMs()) };
  }

  /** The failure as it is told when the request is given up: with the wait or the attempts that were too many. */
  givenUp(failure: ModelFailure): ModelFailure {
    const { retryable, retryAfterMs = 0, message } = failure;
    if (!retryable) return failure;
    if (retryAfterMs > this.#policy.maxDelayMs) {
      const wait = `${seconds(retryAfterMs)}, longer than the ${seconds(this.#policy.maxDelayMs)} that are waited at most`;
      return { ...failure, message: `${sentence(message)} The provider asks to wait ${wait}.` };
    }
    if (this.#used === 0) return failure;
    return { ...failure, message: `${sentence(message)} ${this.#used + 1} attempts failed.` };
  }

  #backoffMs(): number {
    const { baseDelayMs, maxDelayMs } = this.#policy;
    const doubled = baseDelayMs * 2 ** (this.#used - 1);
    return Math.min(maxDelayMs, doubled * (1 + this.#random() / 4));
  }
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000).toLocaleString("en")} s`;
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
