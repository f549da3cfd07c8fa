import type { RegisteredHandler } from "./handler.ts";

/** Calls back once after a delay; the function returned calls it off. */
export type SetTimer = (callback: () => void, delayMs: number) => () => void;

/** A timer that does not keep the process alive. */
export const unrefTimer: SetTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs).unref();
  return () => clearTimeout(timer);
};

/** How a handler ended. */
export type HandlerOutcome =
  | { status: "returned"; value: unknown }
  | { status: "threw"; error: unknown }
  | { status: "aborted" };

export interface HandlerCall {
  handler: RegisteredHandler;
  payload: object;
  current: unknown;
  signal: AbortSignal;
  slowAfterMs: number;
  setTimer: SetTimer;
  /** Told once, at the moment when the handler has taken `slowAfterMs`. */
  onSlow: () => void;
  /** Told where the handler does not answer at once; what it gives back is called when nobody waits any longer. */
  onWait: () => (() => void) | undefined;
}

/** Runs one handler to its end or to the abort, whichever comes first. Never rejects. */
export async function callHandler(call: HandlerCall): Promise<HandlerOutcome> {
  const { signal } = call;
  if (signal.aborted) return { status: "aborted" };
  try {
    const returned = call.handler.call(call.payload, { current: call.current, signal });
    if (!isThenable(returned)) return { status: "returned", value: snapshot(returned) };
    return await settled(returned, call);
  } catch (error) {
    // A handler that obeys the signal throws too: that is the abort, not its failure.
    return signal.aborted ? { status: "aborted" } : { status: "threw", error };
  }
}

async function settled(returned: PromiseLike<unknown>, call: HandlerCall): Promise<HandlerOutcome> {
  const stopTimer = call.setTimer(call.onSlow, call.slowAfterMs);
  const stopWait = call.onWait();
  const abort = abortOf(call.signal);
  try {
    const value = Promise.resolve(returned).then(snapshot);
    const answer = value.then((value): HandlerOutcome => ({ status: "returned", value }));
    return await Promise.race([answer, abort.outcome]);
  } finally {
    stopTimer();
    stopWait?.();
    abort.forget();
  }
}

/** Resolves when the signal aborts; `forget` takes the listener off a signal that outlives the call. */
function abortOf(signal: AbortSignal): { outcome: Promise<HandlerOutcome>; forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<HandlerOutcome>();
  const onAbort = () => resolve({ status: "aborted" });
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return { outcome: promise, forget: () => signal.removeEventListener("abort", onAbort) };
}

/** Reads every field once, where a getter that throws still counts as the handler's own failure. */
function snapshot(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : value;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
}
