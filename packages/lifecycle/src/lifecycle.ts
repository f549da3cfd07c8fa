import { EventEmitter } from "eventemitter3";
import type {
  DecideNames,
  DecideRule,
  ErrorPolicy,
  EventRules,
  NotifyNames,
  PayloadOf,
  ResultOf,
} from "./event.ts";

/** Something that went wrong in a handler without stopping the event. */
export type LifecycleNotice =
  | { type: "handler_error"; event: string; source: string; error: unknown }
  | { type: "slow_handler"; event: string; source: string; elapsedMs: number }
  | { type: "conflict"; event: string; field: string; sources: [earlier: string, later: string] };

export interface LifecycleOptions<Events> {
  rules: EventRules<Events>;
  onNotice?: (notice: LifecycleNotice) => void;
  /** A handler that takes longer is named in a notice. Default 30,000. */
  slowHandlerMs?: number;
}

export interface HandlerOptions {
  /** Who registered the handler, for notices. Default "host". */
  source?: string;
  /** Default: the event's own policy. */
  onError?: ErrorPolicy;
}

/** What handlers get beside the payload. */
export interface HandlerContext<Result> {
  /** What earlier handlers proposed, merged. */
  readonly current: Result | undefined;
  readonly signal: AbortSignal;
}

/** The combined outcome of a decide event. */
export interface Decision<Result> {
  readonly result: Result | undefined;
  /** Who last set each field of the result. */
  readonly sources: Readonly<Partial<Record<keyof Result, string>>>;
}

interface Registered {
  handler: (payload: never, context: HandlerContext<unknown>) => unknown;
  source: string;
  onError: ErrorPolicy | undefined;
}

/** Typed lifecycle events; handlers run in registration order, each awaited. */
export class Lifecycle<Events> {
  readonly #emitter = new EventEmitter();
  readonly #rules: EventRules<Events>;
  readonly #onNotice: (notice: LifecycleNotice) => void;

  constructor(options: LifecycleOptions<Events>) {
    this.#rules = options.rules;
    this.#onNotice = options.onNotice ?? (() => {});
  }

  /** Registers a handler; the function returned takes it out again. */
  on<Name extends keyof Events & string>(
    name: Name,
    handler: (
      payload: PayloadOf<Events[Name]>,
      context: HandlerContext<ResultOf<Events[Name]>>,
    ) => ResultOf<Events[Name]> | undefined | void | Promise<ResultOf<Events[Name]> | undefined | void>,
    options: HandlerOptions = {},
  ): () => void {
    const registered: Registered = {
      handler: handler as never,
      source: options.source ?? "host",
      onError: options.onError,
    };
    const listener = () => registered;
    this.#emitter.on(name, listener);
    return () => this.#emitter.off(name, listener);
  }

  async notify<Name extends NotifyNames<Events> & string>(
    name: Name,
    payload: PayloadOf<Events[Name]>,
  ): Promise<void> {
    for (const { handler, source } of this.#registered(name)) {
      try {
        await handler(payload as never, { current: undefined, signal: new AbortController().signal });
      } catch (error) {
        this.#onNotice({ type: "handler_error", event: name, source, error });
      }
    }
  }

  async decide<Name extends DecideNames<Events> & string>(
    name: Name,
    payload: PayloadOf<Events[Name]>,
    options: { signal?: AbortSignal } = {},
  ): Promise<Decision<ResultOf<Events[Name]>>> {
    const rule = this.#rules[name] as unknown as DecideRule<Record<string, unknown>>;
    const signal = options.signal ?? new AbortController().signal;
    let result: Record<string, unknown> | undefined;
    const sources: Record<string, string> = {};
    for (const { handler, source, onError } of this.#registered(name)) {
      let proposed: unknown;
      try {
        proposed = await handler(payload as never, { current: result, signal });
      } catch (error) {
        this.#onNotice({ type: "handler_error", event: name, source, error });
        if ((onError ?? rule.onError) === "cancel") proposed = rule.refusal(error);
      }
      for (const [field, value] of Object.entries((proposed as object | undefined) ?? {})) {
        if (value === undefined) continue;
        if (rule.exclusive.includes(field) && sources[field] !== undefined) {
          this.#onNotice({ type: "conflict", event: name, field, sources: [sources[field], source] });
        }
        result = { ...result, [field]: value };
        sources[field] = source;
      }
      if (result !== undefined && rule.final(result)) break;
    }
    return { result: result as ResultOf<Events[Name]> | undefined, sources: sources as never };
  }

  #registered(name: string): Registered[] {
    return this.#emitter.listeners(name).map((listener) => (listener as () => Registered)());
  }
}
