/** An event that handlers only observe. */
export interface NotifyEvent<Payload> {
  readonly kind: "notify";
  readonly payload: Payload;
}

/** An event whose outcome handlers can change by returning a result. */
export interface DecideEvent<Payload, Result extends object> {
  readonly kind: "decide";
  readonly payload: Payload;
  readonly result: Result;
}

export type NotifyNames<Events> = {
  [Name in keyof Events]: Events[Name] extends { kind: "notify" } ? Name : never;
}[keyof Events];
export type DecideNames<Events> = {
  [Name in keyof Events]: Events[Name] extends { kind: "decide" } ? Name : never;
}[keyof Events];
export type PayloadOf<Event> = Event extends { payload: infer Payload } ? Payload : never;
export type ResultOf<Event> = Event extends { result: infer Result } ? Result : never;

/**
 * The meaning of a throw. "report": a notice, and the handler abstains. "cancel": a notice, and the throw counts as the
 * event's refusal (`{cancel: true}`, `{block: true}`, …).
 */
export type ErrorPolicy = "report" | "cancel";

/** Combines the results of one decide event. The latest handler sets a field that is in none of the lists. */
export interface DecideRule<Result extends object> {
  readonly kind: "decide";
  /** The meaning of a throw, unless the handler was registered with another policy. */
  readonly onError: ErrorPolicy;
  /** Fields with one owner: a second handler that sets one wins, and a conflict notice names both. */
  readonly exclusive: readonly (keyof Result)[];
  /** Fields whose values are merged: each function makes one of an earlier and a later value. */
  readonly merge?: {
    readonly [Field in keyof Result]?: (
      earlier: NonNullable<Result[Field]>,
      later: NonNullable<Result[Field]>,
    ) => Result[Field];
  };
  /**
   * Fields that are records, merged by key. A key that a second handler sets is a conflict too: the later value wins, and
   * the notice names it as `field.key`.
   */
  readonly keyed?: readonly (keyof Result)[];
  /** True if this result ends the chain: later handlers are not called. */
  final(result: Result): boolean;
  /** The result of an abort, and of a throw under the policy "cancel"; `{}` for none. */
  refusal(error: unknown): Result;
  /**
   * Returns false, or a description of the fault, for an invalid result. It counts as abstaining, or under the policy
   * "cancel" as a refusal, and a notice names it.
   */
  isResult?(value: object, payload: object): boolean | string;
}

/** The handling of an event's payload. */
export interface PayloadRule<Payload, Result> {
  /**
   * Fields whose values are frozen, with the arrays and objects directly in them. Deeper values are read-only by type
   * only, because freezing whole histories at every event costs too much.
   */
  readonly readOnly?: readonly (keyof Payload)[];
  /** Returns the payload for the handlers after this proposal. Makes the event a chained transformation. */
  transform?(payload: Payload, proposed: Result): Payload;
}

/** One rule for each event: no event can be missing. */
export type EventRules<Events> = {
  readonly [Name in keyof Events]: Events[Name] extends DecideEvent<infer Payload, infer Result>
    ? DecideRule<Result> & PayloadRule<Payload, Result>
    : { readonly kind: "notify" } & Pick<PayloadRule<PayloadOf<Events[Name]>, never>, "readOnly">;
};

/** A decide rule without the type of its event. */
export type ErasedDecideRule = DecideRule<Record<string, unknown>> &
  PayloadRule<object, Record<string, unknown>>;

/** The second argument of handlers. */
export interface HandlerContext<Result> {
  /** The combined result of earlier handlers; the same as the payload's `current`. */
  readonly current: Result | undefined;
  /** Aborted when the event no longer waits for handlers. */
  readonly signal: AbortSignal;
}

export interface HandlerOptions {
  /** The registering extension or program, for order, notices and `removeSource`. Default "host". */
  source?: string;
  /** Default: the event's own policy. Decide events only. */
  onError?: ErrorPolicy;
}

/** Notify events have no refusal, so their handlers have no error policy. */
export type HandlerOptionsOf<Event> = Event extends { kind: "notify" }
  ? Omit<HandlerOptions, "onError">
  : HandlerOptions;

/** The payload for handlers: a frozen copy, in decide events with the combined result of earlier handlers. */
export type HandlerPayload<Event> = Event extends { kind: "decide" }
  ? PayloadOf<Event> & { readonly current?: ResultOf<Event> | undefined }
  : PayloadOf<Event>;

type Returned<Event> = ResultOf<Event> | undefined | void;

/** A handler of one event. */
export type Handler<Event> = (
  payload: HandlerPayload<Event>,
  context: HandlerContext<ResultOf<Event>>,
) => Returned<Event> | Promise<Returned<Event>>;

/** A handler in the registry, without the type of its event. */
export interface RegisteredHandler {
  readonly handle: (payload: object, context: HandlerContext<unknown>) => unknown;
  readonly source: string;
  readonly onError: ErrorPolicy | undefined;
}
