import type { ErasedDecideRule, RegisteredHandler } from "./event.ts";
import { describeNotice, errorText, type LifecycleNotice } from "./notice.ts";

export interface HandlerRunnerOptions {
  /** Must not throw. Default: a process warning for each, so that no failure is silent. */
  onNotice?: (notice: LifecycleNotice) => void;
  /** Time in milliseconds after which a notice names a slow handler, once. The handler keeps running. Default 30,000. */
  slowHandlerMs?: number;
  /** Default: a timer that does not keep the process alive. */
  setTimer?: SetTimer;
  /**
   * Called with each handler that does not answer at once. The returned function is called when the wait for the handler
   * ends. Neither must throw. Default: none.
   */
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
const unrefTimer: SetTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs).unref();
  return () => clearTimeout(timer);
};

function warn(notice: LifecycleNotice): void {
  process.emitWarning(describeNotice(notice), { type: "BonsaiLifecycle", code: notice.type });
}

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
    this.notice = options.onNotice ?? warn;
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
    const { slowHandlerMs = 30_000, setTimer = unrefTimer, onSlowAnswer } = this.#options;
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
    const stopKeeping = isPassed ? keepAlive() : undefined;
    const endSlowAnswer = onSlowAnswer?.({ event, source });
    const abort = abortOf(signal);
    try {
      const value = Promise.resolve(returned).then(snapshot);
      const answer = value.then((value): HandlerOutcome => ({ status: "returned", value }));
      return await Promise.race([answer, abort.outcome, passed]);
    } finally {
      stopTimer();
      stopKeeping?.();
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

/** The combined outcome of a decide event. */
export interface Decision<Result, Payload = unknown> {
  /** Undefined if all handlers abstained. After an abort, the proposals with the event's refusal on top. */
  readonly result: Result | undefined;
  /** The source that last set each field of the result. */
  readonly sources: Readonly<Partial<Record<keyof Result, string>>>;
  /** The payload after the last handler. Only a `transform` rule changes it. */
  readonly payload: Payload;
  /** True if the signal aborted before the last handler answered. */
  readonly aborted: boolean;
}

type Fields = Record<string, unknown>;
/** The earlier source and the later one. */
type FieldConflict = { field: string; sources: [earlier: string, later: string] };

/** A decide event. Its payload changes with each proposal under a `transform` rule. */
interface DecideCall {
  readonly event: string;
  readonly rule: ErasedDecideRule;
  payload: object;
  readonly signal: AbortSignal;
  readonly runner: HandlerRunner;
}

/** Calls the handlers one after the other and combines their proposals until one is final. */
export async function decide(
  call: DecideCall,
  handlers: readonly RegisteredHandler[],
): Promise<Decision<Fields, object>> {
  const { event, rule, signal, runner } = call;
  const combined = new CombinedResult(rule);
  const decision = (result: Fields | undefined, aborted: boolean) => {
    return { result, sources: combined.sources, payload: call.payload, aborted };
  };
  for (const handler of handlers) {
    const current = combined.result;
    const payload = readOnlyView(call.payload, { current });
    const outcome = await runner.run({ event, handler, payload, current, signal });
    if (outcome.status === "aborted") break;
    const proposed = proposedBy(call, handler, outcome);
    if (proposed === undefined) continue;
    for (const conflict of combined.add(proposed, handler.source)) {
      runner.notice({
        /** Two handlers set the same exclusive field. The later one wins. */
        type: "conflict",
        event,
        ...conflict,
      });
    }
    call.payload = rule.transform?.(call.payload, proposed) ?? call.payload;
    if (combined.result !== undefined && rule.final(combined.result)) break;
  }
  if (!signal.aborted) return decision(combined.result, false);
  const refused = { ...combined.result, ...rule.refusal(signal.reason) };
  return decision(Object.keys(refused).length === 0 ? undefined : refused, true);
}

/** The valid fields of an answer; undefined if the handler abstains. */
function proposedBy(
  { event, rule, payload, runner }: DecideCall,
  { source, onError = rule.onError }: RegisteredHandler,
  outcome: HandlerOutcome,
): Fields | undefined {
  const refusal = (error: unknown) => (onError === "cancel" ? rule.refusal(error) : undefined);
  if (outcome.status === "threw") return refusal(outcome.error);
  const value = outcome.status === "returned" ? outcome.value : undefined;
  if (value === undefined || value === null) return undefined;
  const verdict = isFields(value) && verdictOn(value, rule, payload);
  if (isFields(value) && verdict === true) return value;
  const received = typeof verdict === "string" ? verdict : described(value);
  runner.notice({
    /** A handler returned an invalid result. It is ignored, or counts as a refusal. */
    type: "invalid_result",
    event,
    source,
    received,
    ...(onError === "cancel" ? { isRefusal: true } : {}),
  });
  // A guard may have meant a refusal.
  return refusal(new TypeError(`${source} returned ${received} from ${event}, which is not a valid answer.`));
}

/** A getter of the answer may throw. */
function verdictOn(value: Fields, rule: ErasedDecideRule, payload: object): boolean | string {
  try {
    return rule.isResult?.(value, payload) ?? true;
  } catch (error) {
    return `an answer that cannot be read (${errorText(error)})`;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function described(value: unknown): string {
  if (isFields(value)) return `fields {${Object.keys(value).join(", ")}}`;
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** The combined proposals of the handlers of one decide event. */
class CombinedResult {
  /** Undefined while all handlers abstain. */
  result: Readonly<Fields> | undefined;
  readonly #rule: ErasedDecideRule;
  /** The source that last set each field, and each key of a keyed field as `field.key`. */
  readonly #owners = new Map<string, string>();

  constructor(rule: ErasedDecideRule) {
    this.#rule = rule;
  }

  /** The source that last set each field. */
  get sources(): Readonly<Record<string, string>> {
    const fields = Object.keys(this.result ?? {});
    return Object.fromEntries(fields.map((field) => [field, this.#owners.get(field)!]));
  }

  /**
   * Returns the fields that a second source set.
   *
   * Invariant: a set field is never erased; an undefined value abstains.
   */
  add(proposed: Fields, source: string): FieldConflict[] {
    const { exclusive, keyed = [], merge } = this.#rule;
    const conflicts: FieldConflict[] = [];
    for (const [field, value] of Object.entries(proposed)) {
      if (value === undefined) continue;
      const earlier = this.result?.[field];
      const conflict = this.#own(field, source);
      if (exclusive.includes(field)) conflicts.push(...conflict);
      let merged: unknown = value;
      if (keyed.includes(field)) {
        for (const key of Object.keys(value as object))
          conflicts.push(...this.#own(`${field}.${key}`, source));
        merged = { ...(earlier as object), ...(value as object) };
      } else if (conflict.length > 0 && merge?.[field] !== undefined)
        merged = merge[field](earlier as object, value as object);
      this.result = Object.freeze({ ...this.result, [field]: merged });
    }
    return conflicts;
  }

  #own(field: string, source: string): FieldConflict[] {
    const earlier = this.#owners.get(field);
    this.#owners.set(field, source);
    return earlier === undefined ? [] : [{ field, sources: [earlier, source] }];
  }
}

/**
 * A frozen copy for handlers, with more fields: no handler sees the assignments of another. A getter stays a getter, so
 * only a handler that reads it pays for it.
 */
export function readOnlyView(payload: object, more: object = {}): object {
  const copy = {};
  for (const source of [payload, more])
    for (const key of Reflect.ownKeys(source)) {
      const field = Reflect.getOwnPropertyDescriptor(source, key)!;
      if (field.enumerable) Object.defineProperty(copy, key, { ...field, configurable: true });
    }
  return Object.freeze(copy);
}

/** Freezes the values of the named fields, and the arrays and plain objects directly in them. Calls no getter. */
export function freezeFields(payload: object, fields: readonly PropertyKey[]): void {
  for (const field of fields) {
    const value = freezeField(payload, field);
    if (value === undefined || Array.isArray(value)) continue;
    for (const key of Reflect.ownKeys(value)) freezeField(value, key);
  }
}

function freezeField(of: object, key: PropertyKey): object | undefined {
  const value: unknown = Reflect.getOwnPropertyDescriptor(of, key)?.value;
  return isFreezable(value) ? Object.freeze(value) : undefined;
}

/** Maps, signals and class instances keep inner state and may need to be writable. */
function isFreezable(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
