import type { CompactionLifecycle } from "@bonsai-agent/compaction";
import type {
  CallOptions,
  DecideNames,
  Decision,
  Lifecycle,
  NotifyNames,
  PayloadOf,
  ResultOf,
} from "@bonsai-agent/lifecycle";
import type { LifecycleEvents } from "./lifecycle-events.ts";
import type { Patience } from "./patience.ts";

/** The lifecycle as the rooms of an agent use it: a handler that hangs is left behind once the work was stopped. */
export class Events {
  readonly #lifecycle: Lifecycle<LifecycleEvents>;
  readonly #patience: Patience;

  constructor(lifecycle: Lifecycle<LifecycleEvents>, patience: Patience) {
    this.#lifecycle = lifecycle;
    this.#patience = patience;
  }

  /** For compaction, which brings signals of its own to some of its calls. */
  get forCompaction(): CompactionLifecycle {
    const waiting = (options: CallOptions = {}) => ({ signal: this.#patience.signal, ...options });
    return {
      hasHandlers: (name) => this.#lifecycle.hasHandlers(name),
      notify: (name, payload, options) => this.#lifecycle.notify(name, payload, waiting(options)),
      decide: (name, payload, options) => this.#lifecycle.decide(name, payload, waiting(options)),
    };
  }

  hasHandlers(name: keyof LifecycleEvents & string): boolean {
    return this.#lifecycle.hasHandlers(name);
  }

  /** Tells every handler. Never rejects. */
  notify<Name extends NotifyNames<LifecycleEvents> & string>(
    name: Name,
    payload: PayloadOf<LifecycleEvents[Name]>,
  ): Promise<void> {
    return this.#lifecycle.notify(name, payload, { signal: this.#patience.signal });
  }

  /** Asks every handler; with a signal, only as long as that is not aborted. Never rejects. */
  decide<Name extends DecideNames<LifecycleEvents> & string>(
    name: Name,
    payload: PayloadOf<LifecycleEvents[Name]>,
    signal: AbortSignal = this.#patience.signal,
  ): Promise<Decision<ResultOf<LifecycleEvents[Name]>, PayloadOf<LifecycleEvents[Name]>>> {
    return this.#lifecycle.decide(name, payload, { signal });
  }
}
