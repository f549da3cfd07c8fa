import type { RegisteredHandler } from "./event.ts";

interface HandlerRunnerOptions {
  onNotice: (notice: LifecycleNotice) => void;
  slowHandlerMs: number;
  setTimer: SetTimer;
  onWait?: ((wait: HandlerWait) => () => void) | undefined;
}

/** A handler that has not answered at once. */
export interface HandlerWait {
  event: string;
  source: string;
}

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

interface HandlerRun {
  event: string;
  handler: RegisteredHandler;
  payload: object;
  current?: unknown;
  signal: AbortSignal;
}

/** Runs handlers and gives notice of those that fail or are slow. */
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
      const returned = handler.call(payload, { current, signal });
      if (!isThenable(returned)) return { status: "returned", value: snapshot(returned) };
      return await this.#settled(returned, run);
    } catch (error) {
      // A handler that obeys the signal throws too: that is the abort, not its failure.
      if (signal.aborted) return { status: "aborted" };
      this.notice({ type: "handler_error", event, source: handler.source, error });
      return { status: "threw", error };
    }
  }

  async #settled(returned: PromiseLike<unknown>, run: HandlerRun): Promise<HandlerOutcome> {
    const { slowHandlerMs, setTimer, onWait } = this.#options;
    const { event, signal } = run;
    const { source } = run.handler;
    const stopTimer = setTimer(
      () => this.notice({ type: "slow_handler", event, source, elapsedMs: slowHandlerMs }),
      slowHandlerMs,
    );
    const stopWait = onWait?.({ event, source });
    const abort = abortOf(signal);
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

/** Something about a handler that somebody should know and that did not stop the event. */
export type LifecycleNotice =
  | { type: "handler_error"; event: string; source: string; error: unknown }
  | { type: "slow_handler"; event: string; source: string; elapsedMs: number }
  | { type: "conflict"; event: string; field: string; sources: [earlier: string, later: string] }
  | {
      type: "invalid_result";
      event: string;
      source: string;
      received: string;
      /** Under the policy "cancel" it counts as a no; absent where it is left out. */
      isRefusal?: boolean;
    }
  | { type: "unknown_event"; event: string; source: string };

/** One sentence for people. */
export function describeNotice(notice: LifecycleNotice): string {
  const { event } = notice;
  switch (notice.type) {
    case "handler_error":
      return `${notice.source} failed in ${event}: ${errorText(notice.error)}`;
    case "slow_handler":
      return `${notice.source} has been busy with ${event} for ${Math.round(notice.elapsedMs / 1000)} s`;
    case "conflict": {
      const [earlier, later] = notice.sources;
      return `${earlier} and ${later} both set ${notice.field} in ${event}: ${later} stands`;
    }
    case "invalid_result":
      return `${notice.source} returned ${notice.received} from ${event}: ${notice.isRefusal ? "taken for a refusal" : "ignored"}`;
    case "unknown_event":
      return `${notice.source} listens to ${event}, which is not an event`;
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
