/**
 * Waits for a promise, at most until the signal aborts. Leaves no listener on the signal.
 * @param onAbort makes the result, or throws the error, for an abort. Default: throws the signal's reason
 * @throws the promise's error, or the error for an abort
 */
export async function raceAbort<Value, Aborted = never>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  onAbort: (signal: AbortSignal) => Aborted = ({ reason }) => {
    throw reason;
  },
): Promise<Value | Aborted> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<symbol>();
  const abort = () => aborted.resolve(ABORTED);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    const settled = await Promise.race([aborted.promise, promise]);
    return settled === ABORTED ? onAbort(signal) : (settled as Value);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

const ABORTED = Symbol("aborted");

/** Waits. Returns early, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await raceAbort(promise, signal, () => undefined);
  } finally {
    clearTimeout(timer);
  }
}
