import type { ErasedDecideRule, RegisteredHandler } from "./event.ts";

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
type HandlerOutcome =
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
    const { slowHandlerMs, setTimer, onWait } = this.#options;
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
    const stopWait = onWait?.({ event, source });
    const abort = abortOf(signal);
    try {
      const value = Promise.resolve(returned).then(snapshot);
      const answer = value.then((value): HandlerOutcome => ({ status: "returned", value }));
      return await Promise.race([answer, abort.outcome, passed]);
    } finally {
      stopTimer();
      stopKeeping();
      stopWait?.();
      abort.forget();
    }
  }
}

function keepAlive(): () => void {
  const timer = setInterval(() => {}, 60_000);
  return () => clearInterval(timer);
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
  | {
      type: "slow_handler";
      event: string;
      source: string;
      elapsedMs: number;
      /** True if the event continues without the handler. Default false. */
      isPassed?: boolean;
    }
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
      return `${notice.source} has been handling ${event} for ${Math.round(notice.elapsedMs / 1000)} s${notice.isPassed ? ". Bonsai continues without waiting for it" : ""}`;
    case "conflict": {
      const [earlier, later] = notice.sources;
      return `${earlier} and ${later} both set ${notice.field} in ${event}. Using the value of ${later}`;
    }
    case "invalid_result":
      return `${notice.source} returned ${notice.received} from ${event}: ${notice.isRefusal ? "treated as a refusal" : "ignored"}`;
    case "unknown_event":
      return `${notice.source} listens to ${event}, which is not an event`;
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The combined outcome of a decide event. */
export interface Decision<Result, Payload = unknown> {
  /** Undefined when everybody abstained; after an abort the event's refusal on top of what was proposed. */
  readonly result: Result | undefined;
  /** Who last set each field of the result. */
  readonly sources: Readonly<Partial<Record<keyof Result, string>>>;
  /** The payload as the last handler left it: another one only in events with a `transform` rule. */
  readonly payload: Payload;
  /** True when the signal was aborted before the last handler had answered. */
  readonly aborted: boolean;
}

type Fields = Record<string, unknown>;
/** The earlier source and the later one. */
type FieldConflict = { field: string; sources: [earlier: string, later: string] };

interface DecisionRunOptions {
  event: string;
  rule: ErasedDecideRule;
  payload: object;
  signal: AbortSignal;
  runner: HandlerRunner;
}

/** One firing of a decide event: owner of the proposal and of the payload as it changes. */
export class DecisionRun {
  readonly #options: DecisionRunOptions;
  readonly #proposal: Proposal;
  #payload: object;

  constructor(options: DecisionRunOptions) {
    this.#options = options;
    this.#proposal = new Proposal(options.rule);
    this.#payload = options.payload;
  }

  async ask(handlers: readonly RegisteredHandler[]): Promise<Decision<Fields, object>> {
    const { event, rule, signal, runner } = this.#options;
    for (const handler of handlers) {
      const current = this.#proposal.result;
      const payload = frozenCopy(this.#payload, { current });
      const outcome = await runner.run({ event, handler, payload, current, signal });
      if (outcome.status === "aborted") return this.#aborted();
      const proposed = this.#proposedBy(handler, outcome);
      if (proposed === undefined) continue;
      this.#add(proposed, handler.source);
      const { result } = this.#proposal;
      if (result !== undefined && rule.final(result)) break;
    }
    return signal.aborted ? this.#aborted() : this.#decision(this.#proposal.result, false);
  }

  /** The fields that count; undefined for whoever abstains. */
  #proposedBy(handler: RegisteredHandler, outcome: HandlerOutcome): Fields | undefined {
    const { event, rule, runner } = this.#options;
    const failsClosed = (handler.onError ?? rule.onError) === "cancel";
    if (outcome.status === "threw") return failsClosed ? rule.refusal(outcome.error) : undefined;
    const value = outcome.status === "returned" ? outcome.value : undefined;
    if (value === undefined || value === null) return undefined;
    const verdict = isFields(value) && this.#verdict(value);
    if (isFields(value) && verdict === true) return value;
    const received = typeof verdict === "string" ? verdict : described(value);
    const { source } = handler;
    runner.notice({
      /** A handler returned an invalid result. It is ignored, or counts as a refusal. */
      type: "invalid_result",
      event,
      source,
      received,
      ...(failsClosed ? { isRefusal: true } : {}),
    });
    // What a guard meant by it nobody can tell: it may have been a no.
    return failsClosed
      ? rule.refusal(
          new TypeError(`${source} returned ${received} from ${event}, which is not a valid answer.`),
        )
      : undefined;
  }

  /** A getter of the answer may throw. */
  #verdict(value: Fields): boolean | string {
    try {
      return this.#options.rule.isResult?.(value, this.#payload) ?? true;
    } catch (error) {
      return `an answer that cannot be read (${errorText(error)})`;
    }
  }

  #add(proposed: Fields, source: string): void {
    const { event, rule, runner } = this.#options;
    for (const conflict of this.#proposal.add(proposed, source)) {
      runner.notice({
        /** Two handlers set the same exclusive field. The later one wins. */
        type: "conflict",
        event,
        ...conflict,
      });
    }
    this.#payload = rule.transform?.(this.#payload, proposed) ?? this.#payload;
  }

  #aborted(): Decision<Fields, object> {
    const result = { ...this.#proposal.result, ...this.#options.rule.refusal(this.#options.signal.reason) };
    return this.#decision(Object.keys(result).length === 0 ? undefined : result, true);
  }

  #decision(result: Fields | undefined, aborted: boolean): Decision<Fields, object> {
    return { result, sources: this.#proposal.sources, payload: this.#payload, aborted };
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function described(value: unknown): string {
  if (isFields(value)) return `fields {${Object.keys(value).join(", ")}}`;
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** What the handlers of one decide event have proposed so far. */
class Proposal {
  readonly #rule: ErasedDecideRule;
  readonly #sources = new Map<string, string>();
  readonly #keySources = new Map<string, string>();
  #result: Readonly<Fields> | undefined;

  constructor(rule: ErasedDecideRule) {
    this.#rule = rule;
  }

  /** Undefined while everybody has abstained. */
  get result(): Readonly<Fields> | undefined {
    return this.#result;
  }

  /** Who last set each field. */
  get sources(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#sources);
  }

  /** @returns fields that a second source has set. Invariant: a field once set is never erased; an undefined value abstains. */
  add(proposed: Fields, source: string): FieldConflict[] {
    const conflicts: FieldConflict[] = [];
    for (const [field, value] of Object.entries(proposed)) {
      if (value === undefined) continue;
      const earlier = this.#sources.get(field);
      if (earlier !== undefined && this.#rule.exclusive.includes(field)) {
        conflicts.push({ field, sources: [earlier, source] });
      }
      if (this.#isKeyed(field)) conflicts.push(...this.#keyConflicts(field, value, source));
      this.#result = Object.freeze({ ...this.#result, [field]: this.#combined(field, value) });
      this.#sources.set(field, source);
    }
    return conflicts;
  }

  #isKeyed(field: string): boolean {
    return this.#rule.keyed?.includes(field) ?? false;
  }

  #keyConflicts(field: string, value: unknown, source: string): FieldConflict[] {
    return Object.keys(value as object).flatMap((key) => {
      const name = `${field}.${key}`;
      const earlier = this.#keySources.get(name);
      this.#keySources.set(name, source);
      return earlier === undefined ? [] : [{ field: name, sources: [earlier, source] }];
    });
  }

  #combined(field: string, value: unknown): unknown {
    if (this.#isKeyed(field)) return { ...(this.#result?.[field] as object), ...(value as object) };
    const merge = this.#sources.has(field) ? this.#rule.merge?.[field] : undefined;
    return merge === undefined ? value : merge(this.#result?.[field] as object, value as object);
  }
}

/**
 * A frozen copy for handlers, with more fields: what one of them assigns, the next does not see. A getter stays a getter:
 * what is read or computed there is paid for by the handler that asks for it, and by no other.
 */
export function frozenCopy(payload: object, more: object = {}): object {
  const copy = {};
  for (const source of [payload, more])
    for (const key of Reflect.ownKeys(source)) {
      const field = Reflect.getOwnPropertyDescriptor(source, key)!;
      if (field.enumerable) Object.defineProperty(copy, key, { ...field, configurable: true });
    }
  return Object.freeze(copy);
}

/** Freezes the values of the named fields, and the arrays and plain objects directly in those; no getter is asked. */
export function freezeFields(payload: object, fields: readonly PropertyKey[]): void {
  for (const field of fields) {
    const value = heldValue(payload, field);
    if (!isFreezable(value)) continue;
    Object.freeze(value);
    for (const key of Array.isArray(value) ? [] : Reflect.ownKeys(value)) {
      const part = heldValue(value, key);
      if (isFreezable(part)) Object.freeze(part);
    }
  }
}

function heldValue(of: object, key: PropertyKey): unknown {
  return Reflect.getOwnPropertyDescriptor(of, key)?.value;
}

/** Maps, signals, class instances keep their inner state whether frozen or not, and may rely on being writable. */
function isFreezable(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
