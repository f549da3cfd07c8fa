import {
  type Decision,
  decide,
  freezeFields,
  HandlerRunner,
  type HandlerRunnerOptions,
  readOnlyView,
} from "./decision.ts";
import type {
  DecideNames,
  ErasedDecideRule,
  EventRules,
  Handler,
  HandlerOptions,
  HandlerOptionsOf,
  NotifyNames,
  PayloadOf,
  RegisteredHandler,
  ResultOf,
} from "./event.ts";

export interface LifecycleOptions<Events> extends HandlerRunnerOptions {
  rules: EventRules<Events>;
  /** Notify events that continue without a slow handler: a notice names it, and the next handler runs. Default: none. */
  passesSlowHandlers?: ReadonlySet<string> | undefined;
}

export interface CallOptions {
  /** Passed to the handlers. After its abort no handler is called or awaited. Default: never aborts. */
  signal?: AbortSignal;
}

/** Typed lifecycle events. Handlers run one after the other, each awaited, in the order of their sources, then of registration. */
export class Lifecycle<Events> {
  readonly #registry = new HandlerRegistry();
  readonly #rules: EventRules<Events>;
  readonly #runner: HandlerRunner;
  readonly #passesSlowHandlers: ReadonlySet<string>;

  constructor(options: LifecycleOptions<Events>) {
    this.#rules = options.rules;
    this.#passesSlowHandlers = options.passesSlowHandlers ?? new Set();
    this.#runner = new HandlerRunner(options);
  }

  /**
   * Registers a handler. The returned function removes this registration.
   * An unknown event name is registered too, and a notice names it.
   */
  on<Name extends keyof Events & string>(
    name: Name,
    handler: Handler<Events[Name]>,
    options?: HandlerOptionsOf<Events[Name]>,
  ): () => void {
    const { source = "host", onError } = (options ?? {}) as HandlerOptions;
    if (!Object.hasOwn(this.#rules, name))
      this.#runner.notice({
        /** A handler listens to an event that does not exist. */
        type: "unknown_event",
        event: name,
        source,
      });
    return this.#registry.add(name, { handle: handler as RegisteredHandler["handle"], source, onError });
  }

  /** Gives a source its place in the order before it registers anything. */
  addSource(source: string): void {
    this.#registry.addSource(source);
  }

  /** Removes all handlers of a source and its place in the order. Does not disturb a running call. */
  removeSource(source: string): void {
    this.#registry.removeSource(source);
  }

  /** False if the event has no handlers. */
  hasHandlers(name: keyof Events & string): boolean {
    return this.#registry.has(name);
  }

  /** Calls every handler. Resolves when the last one has ended, or at the abort. Never rejects because of a handler. */
  async notify<Name extends NotifyNames<Events> & string>(
    name: Name,
    payload: PayloadOf<Events[Name]>,
    options: CallOptions = {},
  ): Promise<void> {
    const signal = options.signal ?? new AbortController().signal;
    const frozen = readOnlyView(this.#prepared(name, payload));
    const isPassed = this.#passesSlowHandlers.has(name);
    for (const handler of this.#registry.handlersOf(name)) {
      const outcome = await this.#runner.run({ event: name, handler, payload: frozen, signal, isPassed });
      if (outcome.status === "aborted") return;
    }
  }

  /**
   * Calls every handler until a proposal is final. Never rejects because of a handler. After an abort the decision is
   * `aborted` and has the event's refusal, so that a caller that only reads the result does not continue by mistake.
   */
  async decide<Name extends DecideNames<Events> & string>(
    name: Name,
    payload: PayloadOf<Events[Name]>,
    options: CallOptions = {},
  ): Promise<Decision<ResultOf<Events[Name]>, PayloadOf<Events[Name]>>> {
    const call = {
      event: name,
      rule: this.#rules[name] as unknown as ErasedDecideRule,
      payload: this.#prepared(name, payload),
      signal: options.signal ?? new AbortController().signal,
      runner: this.#runner,
    };
    return (await decide(call, this.#registry.handlersOf(name))) as never;
  }

  #prepared(name: keyof Events, payload: unknown): object {
    const { readOnly = [] } = this.#rules[name] as { readOnly?: readonly PropertyKey[] };
    freezeFields(payload as object, readOnly);
    return payload as object;
  }
}

/** Owner of the handlers and of the order of sources. */
class HandlerRegistry {
  readonly #handlers = new Map<string, readonly RegisteredHandler[]>();
  readonly #rankOfSource = new Map<string, number>();
  #nextRank = 0;

  /** Gives a source its place in the order, unless it has one. */
  addSource(source: string): void {
    if (!this.#rankOfSource.has(source)) this.#rankOfSource.set(source, this.#nextRank++);
  }

  removeSource(source: string): void {
    for (const name of this.#handlers.keys()) this.#keep(name, (handler) => handler.source !== source);
    this.#rankOfSource.delete(source);
  }

  /** Returns a function that removes this registration. Its second call does nothing. */
  add(name: string, handler: RegisteredHandler): () => void {
    this.addSource(handler.source);
    this.#handlers.set(name, [...this.#named(name), handler]);
    return () => this.#keep(name, (each) => each !== handler);
  }

  has(name: string): boolean {
    return this.#named(name).length > 0;
  }

  /** A copy in the order of sources, then of registration, so that changes during a call do not disturb it. */
  handlersOf(name: string): RegisteredHandler[] {
    const rank = ({ source }: RegisteredHandler) => this.#rankOfSource.get(source)!;
    return this.#named(name).toSorted((a, b) => rank(a) - rank(b));
  }

  #named(name: string): readonly RegisteredHandler[] {
    return this.#handlers.get(name) ?? [];
  }

  #keep(name: string, isKept: (handler: RegisteredHandler) => boolean): void {
    this.#handlers.set(name, this.#named(name).filter(isKept));
  }
}
