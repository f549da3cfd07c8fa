/**
 * Runs work under a signal of its own that also aborts when the outer one does. Nothing stays on the outer signal
 * afterwards, whatever the work has hung on its own: a run's signal lives for hours.
 */
export async function withLinkedSignal<Result>(
  outer: AbortSignal | readonly AbortSignal[],
  work: (own: AbortController) => Promise<Result>,
): Promise<Result> {
  const sources = Array.isArray(outer) ? (outer as readonly AbortSignal[]) : [outer as AbortSignal];
  const own = new AbortController();
  const listeners = sources.map((source) => {
    const onAbort = () => own.abort(source.reason);
    if (source.aborted) onAbort();
    else source.addEventListener("abort", onAbort, { once: true });
    return () => source.removeEventListener("abort", onAbort);
  });
  try {
    return await work(own);
  } finally {
    for (const remove of listeners) remove();
  }
}

/** The promise, or a rejection with the signal's reason once that aborts. Leaves nothing on the signal. */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
