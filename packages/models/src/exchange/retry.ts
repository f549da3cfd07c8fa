import { duration } from "@bonsai-agent/messages/numbers";
import { sentence } from "../failure/failure.ts";
import type { ModelFailure } from "../model-request.ts";

/** Limits of retries and waits. */
export interface RetryPolicy {
  /** Attempts after the first. Default 5. */
  maxRetries: number;
  /** Wait before the first retry. Doubles each time, with up to a quarter of jitter. Default 1,000. */
  baseDelayMs: number;
  /** Maximum wait. A longer `retry-after` ends the request with an error that names it. Default 60,000. */
  maxDelayMs: number;
  /** Ends a stream that sends nothing for this long. 0 waits for ever. Default 300,000. */
  silenceMs: number;
  /** Ends a stream without text, thinking and calls for this long, even with signs of life. 0 waits for ever. Default 600,000. */
  contentMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 5,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  silenceMs: 300_000,
  contentMs: 600_000,
};

interface PlannedRetry {
  /** 1 for the first retry. */
  attempt: number;
  maxAttempts: number;
  delayMs: number;
}

/** The retries of one request. */
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

  /** Returns the next retry; undefined if there is none. */
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

  /** Returns the final failure. Its message names the wait or the number of attempts. */
  finalFailure(failure: ModelFailure): ModelFailure {
    const { retryable, retryAfterMs = 0, message } = failure;
    if (!retryable) return failure;
    if (retryAfterMs > this.#policy.maxDelayMs) {
      const wait = `${duration(retryAfterMs)}; the limit is ${duration(this.#policy.maxDelayMs)} (retry.maxDelayMs)`;
      return { ...failure, message: `${sentence(message)} The provider asked to wait ${wait}.` };
    }
    if (this.#used === 0) return failure;
    return { ...failure, message: `${sentence(message)} Gave up after ${this.#used + 1} attempts.` };
  }

  #backoffMs(): number {
    const { baseDelayMs, maxDelayMs } = this.#policy;
    const doubled = baseDelayMs * 2 ** (this.#used - 1);
    return Math.min(maxDelayMs, doubled * (1 + this.#random() / 4));
  }
}
