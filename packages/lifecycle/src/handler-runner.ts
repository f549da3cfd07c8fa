import { callHandler, type HandlerOutcome, type SetTimer } from "./call-handler.ts";
import type { RegisteredHandler } from "./handler.ts";
import type { LifecycleNotice } from "./notice.ts";

export interface HandlerRunnerOptions {
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

export interface HandlerRun {
  event: string;
  handler: RegisteredHandler;
  payload: object;
  current?: unknown;
  signal: AbortSignal;
}

/** Runs handlers and gives notice of those that fail or are slow. */
export class HandlerRunner {
  readonly notice: (notice: LifecycleNotice) => void;
  readonly #slowHandlerMs: number;
  readonly #setTimer: SetTimer;
  readonly #onWait: HandlerRunnerOptions["onWait"];

  constructor(options: HandlerRunnerOptions) {
    this.notice = options.onNotice;
    this.#slowHandlerMs = options.slowHandlerMs;
    this.#setTimer = options.setTimer;
    this.#onWait = options.onWait;
  }

  async run(run: HandlerRun): Promise<HandlerOutcome> {
    const { event, handler, payload, current, signal } = run;
    const { source } = handler;
    const elapsedMs = this.#slowHandlerMs;
    const outcome = await callHandler({
      handler,
      payload,
      current,
      signal,
      slowAfterMs: elapsedMs,
      setTimer: this.#setTimer,
      onWait: () => this.#onWait?.({ event, source }),
      onSlow: () => this.notice({ type: "slow_handler", event, source, elapsedMs }),
    });
    if (outcome.status === "threw") {
      this.notice({ type: "handler_error", event, source, error: outcome.error });
    }
    return outcome;
  }
}
