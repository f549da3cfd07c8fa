/** When and how often a failed request is repeated. */
export interface RetryPolicy {
  /** Attempts after the first. Default 5. */
  maxRetries: number;
  /** Wait before the first retry; it doubles each time, with up to a quarter of jitter. Default 1,000. */
  baseDelayMs: number;
  /** Default 60,000. A `retry-after` above it ends the request with an error that names the wait. */
  maxDelayMs: number;
  /** A stream that sends nothing for so long is taken for dead. Default 300,000. */
  silenceMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 5,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  silenceMs: 300_000,
};
