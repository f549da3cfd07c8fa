/**
 * Waits for a promise, at most until the signal aborts. Leaves no listener on the signal.
 * @param reason makes the error for an abort. Default: the signal's own reason
 * @throws the promise's error, or the error for an abort
 */
export async function raceAbort<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  reason: (signal: AbortSignal) => unknown = ({ reason }) => reason,
): Promise<Value> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(reason(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** As `raceAbort`, but returns undefined after an abort. */
export async function untilAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  const aborted = new Error("aborted");
  try {
    return await raceAbort(promise, signal, () => aborted);
  } catch (error) {
    if (error === aborted) return undefined;
    throw error;
  }
}

/** Waits. Returns early, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await (signal === undefined ? promise : untilAborted(promise, signal));
  } finally {
    clearTimeout(timer);
  }
}
