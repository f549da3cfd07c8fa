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
import type { OwnWork } from "../own-work.ts";
import type { Patience } from "../run/patience.ts";
import type { LifecycleEvents } from "./lifecycle-events.ts";

/** The lifecycle as the rooms of an agent use it: a handler that hangs is left behind once the work was stopped. */
export class Events {
  readonly #lifecycle: Lifecycle<LifecycleEvents>;
  readonly #patience: Patience;
  readonly #ownWork: OwnWork;

  constructor(lifecycle: Lifecycle<LifecycleEvents>, patience: Patience, ownWork: OwnWork) {
    this.#lifecycle = lifecycle;
    this.#patience = patience;
    this.#ownWork = ownWork;
  }

  /** For compaction, which brings signals of its own to some of its calls. */
  get forCompaction(): CompactionLifecycle {
    const waiting = (options: CallOptions = {}) => ({ signal: this.#patience.signal, ...options });
    return {
      hasHandlers: (name) => this.#lifecycle.hasHandlers(name),
      notify: (name, payload, options) =>
        this.#ownWork.run(() => this.#lifecycle.notify(name, payload, waiting(options))),
      decide: (name, payload, options) =>
        this.#ownWork.run(() => this.#lifecycle.decide(name, payload, waiting(options))),
    };
  }

  hasHandlers(name: keyof LifecycleEvents & string): boolean {
    return this.#lifecycle.hasHandlers(name);
  }

  /** Tells every handler; with a signal, only as long as that is not aborted. Never rejects. */
  notify<Name extends NotifyNames<LifecycleEvents> & string>(
    name: Name,
    payload: PayloadOf<LifecycleEvents[Name]>,
    signal: AbortSignal = this.#patience.signal,
  ): Promise<void> {
    return this.#ownWork.run(() => this.#lifecycle.notify(name, payload, { signal }));
  }

  /** Asks every handler; with a signal, only as long as that is not aborted. Never rejects. */
  decide<Name extends DecideNames<LifecycleEvents> & string>(
    name: Name,
    payload: PayloadOf<LifecycleEvents[Name]>,
    signal: AbortSignal = this.#patience.signal,
  ): Promise<Decision<ResultOf<LifecycleEvents[Name]>, PayloadOf<LifecycleEvents[Name]>>> {
    return this.#ownWork.run(() => this.#lifecycle.decide(name, payload, { signal }));
  }
}
