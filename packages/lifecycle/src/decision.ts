import type { ErasedDecideRule, RegisteredHandler } from "./event.ts";
import type { HandlerOutcome, HandlerRunner } from "./handler-runner.ts";
import { errorText } from "./notice.ts";

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

interface DecisionRunOptions {
  event: string;
  rule: ErasedDecideRule;
  payload: object;
  signal: AbortSignal;
  runner: HandlerRunner;
}

/** One decide event. Owner of the combined result and of the payload as it changes. */
export class DecisionRun {
  readonly #options: DecisionRunOptions;
  readonly #combined: CombinedResult;
  #payload: object;

  constructor(options: DecisionRunOptions) {
    this.#options = options;
    this.#combined = new CombinedResult(options.rule);
    this.#payload = options.payload;
  }

  async decide(handlers: readonly RegisteredHandler[]): Promise<Decision<Fields, object>> {
    const { event, rule, signal, runner } = this.#options;
    for (const handler of handlers) {
      const current = this.#combined.result;
      const payload = readOnlyView(this.#payload, { current });
      const outcome = await runner.run({ event, handler, payload, current, signal });
      if (outcome.status === "aborted") return this.#aborted();
      const proposed = this.#proposedBy(handler, outcome);
      if (proposed === undefined) continue;
      this.#add(proposed, handler.source);
      const { result } = this.#combined;
      if (result !== undefined && rule.final(result)) break;
    }
    return signal.aborted ? this.#aborted() : this.#decision(this.#combined.result, false);
  }

  /** The valid fields of an answer; undefined if the handler abstains. */
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
    // A guard may have meant a refusal.
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
    for (const conflict of this.#combined.add(proposed, source)) {
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
    const result = { ...this.#combined.result, ...this.#options.rule.refusal(this.#options.signal.reason) };
    return this.#decision(Object.keys(result).length === 0 ? undefined : result, true);
  }

  #decision(result: Fields | undefined, aborted: boolean): Decision<Fields, object> {
    return { result, sources: this.#combined.sources, payload: this.#payload, aborted };
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
  readonly #rule: ErasedDecideRule;
  readonly #sources = new Map<string, string>();
  readonly #keySources = new Map<string, string>();
  #result: Readonly<Fields> | undefined;

  constructor(rule: ErasedDecideRule) {
    this.#rule = rule;
  }

  /** Undefined while all handlers abstain. */
  get result(): Readonly<Fields> | undefined {
    return this.#result;
  }

  /** The source that last set each field. */
  get sources(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#sources);
  }

  /**
   * Returns the fields that a second source set.
   *
   * Invariant: a set field is never erased; an undefined value abstains.
   */
  add(proposed: Fields, source: string): FieldConflict[] {
    const conflicts: FieldConflict[] = [];
    for (const [field, value] of Object.entries(proposed)) {
      if (value === undefined) continue;
      const earlier = this.#sources.get(field);
      if (earlier !== undefined && this.#rule.exclusive.includes(field)) {
        conflicts.push({ field, sources: [earlier, source] });
      }
      if (this.#isKeyed(field)) conflicts.push(...this.#keyConflicts(field, value, source));
      this.#result = Object.freeze({ ...this.#result, [field]: this.#merged(field, value) });
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

  #merged(field: string, value: unknown): unknown {
    if (this.#isKeyed(field)) return { ...(this.#result?.[field] as object), ...(value as object) };
    const merge = this.#sources.has(field) ? this.#rule.merge?.[field] : undefined;
    return merge === undefined ? value : merge(this.#result?.[field] as object, value as object);
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

/** Maps, signals and class instances keep inner state and may need to be writable. */
function isFreezable(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
