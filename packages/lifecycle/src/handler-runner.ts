import type { RegisteredHandler } from "./event.ts";
import type { LifecycleNotice } from "./notice.ts";

interface HandlerRunnerOptions {
  onNotice: (notice: LifecycleNotice) => void;
  slowHandlerMs: number;
  setTimer: SetTimer;
  onSlowAnswer?: ((slow: SlowAnswer) => () => void) | undefined;
}

/** A handler that did not answer at once. */
export interface SlowAnswer {
  event: string;
  source: string;
}

/** Calls back once after a delay. The returned function cancels it. */
export type SetTimer = (callback: () => void, delayMs: number) => () => void;

/** A timer that does not keep the process alive. */
export const unrefTimer: SetTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs).unref();
  return () => clearTimeout(timer);
};

/** The end of a handler's call. */
export type HandlerOutcome =
  | { status: "returned"; value: unknown }
  | { status: "threw"; error: unknown }
  | { status: "aborted" }
  | { status: "passed" };

interface HandlerRun {
  event: string;
  handler: RegisteredHandler;
  payload: object;
  current?: unknown;
  signal: AbortSignal;
  /** True to continue without a slow handler. Default: false. */
  isPassed?: boolean;
}

/** Runs handlers. Emits notices for failed and slow ones. */
export class HandlerRunner {
  readonly notice: (notice: LifecycleNotice) => void;
  readonly #options: HandlerRunnerOptions;

  constructor(options: HandlerRunnerOptions) {
    this.notice = options.onNotice;
    this.#options = options;
  }

  /** Runs one handler to its end or to the abort, whichever comes first. Never rejects. */
  async run(run: HandlerRun): Promise<HandlerOutcome> {
    const { event, handler, payload, current, signal } = run;
    if (signal.aborted) return { status: "aborted" };
    try {
      const returned = handler.handle(payload, { current, signal });
      if (!isThenable(returned)) return { status: "returned", value: snapshot(returned) };
      return await this.#settled(returned, run);
    } catch (error) {
      // A handler that obeys the signal throws too: that is the abort, not its failure.
      if (signal.aborted) return { status: "aborted" };
      this.notice({
        /** A handler threw. With `onError: "cancel"` this counts as a refusal. */
        type: "handler_error",
        event,
        source: handler.source,
        error,
      });
      return { status: "threw", error };
    }
  }

  async #settled(returned: PromiseLike<unknown>, run: HandlerRun): Promise<HandlerOutcome> {
    const { slowHandlerMs, setTimer, onSlowAnswer } = this.#options;
    const { event, signal, isPassed = false } = run;
    const { source } = run.handler;
    const { promise: passed, resolve: pass } = Promise.withResolvers<HandlerOutcome>();
    const stopTimer = setTimer(() => {
      this.notice({
        /** A handler takes longer than `slowHandlerMs`. One notice per call. */
        type: "slow_handler",
        event,
        source,
        elapsedMs: slowHandlerMs,
        ...(isPassed && { isPassed }),
      });
      if (isPassed) pass({ status: "passed" });
    }, slowHandlerMs);
    // The timer of the notice does not keep the process alive.
    const stopKeeping = isPassed ? keepAlive() : () => {};
    const endSlowAnswer = onSlowAnswer?.({ event, source });
    const abort = abortOf(signal);
    try {
      const value = Promise.resolve(returned).then(snapshot);
      const answer = value.then((value): HandlerOutcome => ({ status: "returned", value }));
      return await Promise.race([answer, abort.outcome, passed]);
    } finally {
      stopTimer();
      stopKeeping();
      endSlowAnswer?.();
      abort.forget();
    }
  }
}

function keepAlive(): () => void {
  const timer = setInterval(() => {}, 60_000);
  return () => clearInterval(timer);
}

/** Resolves when the signal aborts. `forget` removes the listener, as the signal can outlive the call. */
function abortOf(signal: AbortSignal): { outcome: Promise<HandlerOutcome>; forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<HandlerOutcome>();
  const onAbort = () => resolve({ status: "aborted" });
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return { outcome: promise, forget: () => signal.removeEventListener("abort", onAbort) };
}

/** Reads every field once, so that a throwing getter counts as a failure of its handler. */
function snapshot(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : value;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
}
