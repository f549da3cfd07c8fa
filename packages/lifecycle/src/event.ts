/** An event that handlers only learn of. */
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
 * What a throw means. "report": a notice, and the event goes on as if the handler had abstained.
 * "cancel": a notice, and the throw counts as the event's refusal (`{cancel: true}`, `{block: true}`, …).
 */
export type ErrorPolicy = "report" | "cancel";

/** How the results of one decide event combine. A field in neither list is simply set by its latest proposer. */
export interface DecideRule<Result extends object> {
  readonly kind: "decide";
  /** What a throw means, unless the handler was registered with another policy. */
  readonly onError: ErrorPolicy;
  /** Fields that only one handler can own: a second one that sets it wins, and a conflict notice names both. */
  readonly exclusive: readonly (keyof Result)[];
  /** Fields that add up instead of replacing each other: how an earlier and a later value become one. */
  readonly merge?: {
    readonly [Field in keyof Result]?: (
      earlier: NonNullable<Result[Field]>,
      later: NonNullable<Result[Field]>,
    ) => Result[Field];
  };
  /**
   * Fields that are records: what several handlers set adds up by key. A key that a second one sets is a conflict too:
   * the later stands, and the notice names it as `field.key`.
   */
  readonly keyed?: readonly (keyof Result)[];
  /** True when this result ends the chain: later handlers are not called. */
  final(result: Result): boolean;
  /** The result that stands for a throw under the policy "cancel", and for an abort; `{}` where there is none. */
  refusal(error: unknown): Result;
  /**
   * False, or a text that says what is wrong, for an object that is no result of this event with this payload: it counts
   * as abstaining, under the policy "cancel" as a refusal, with a notice.
   */
  isResult?(value: object, payload: object): boolean | string;
}

export interface NotifyRule {
  readonly kind: "notify";
}

/** What an event does with its payload, beside what its kind does. */
export interface PayloadRule<Payload, Result> {
  /**
   * Fields whose values are frozen, with the arrays and objects directly in them, when the event is fired.
   * What lies deeper is read-only by type alone: freezing whole histories at every event costs too much.
   */
  readonly readOnly?: readonly (keyof Payload)[];
  /** Makes the event a chained transformation: the payload that the handlers after this proposal see. */
  transform?(payload: Payload, proposed: Result): Payload;
}

/** One rule for each event: no event can be missing. */
export type EventRules<Events> = {
  readonly [Name in keyof Events]: Events[Name] extends DecideEvent<infer Payload, infer Result>
    ? DecideRule<Result> & PayloadRule<Payload, Result>
    : NotifyRule & Pick<PayloadRule<PayloadOf<Events[Name]>, never>, "readOnly">;
};

/** A decide rule whose event is no longer known to the types. */
export type ErasedDecideRule = DecideRule<Record<string, unknown>> &
  PayloadRule<object, Record<string, unknown>>;

/** What handlers get beside the payload. */
export interface HandlerContext<Result> {
  /** What earlier handlers proposed, merged; the same as the payload's `current`. */
  readonly current: Result | undefined;
  /** Aborted when the event need not be waited for any longer. */
  readonly signal: AbortSignal;
}

export interface HandlerOptions {
  /** Who registered the handler: for order, notices and `removeSource`. Default "host". */
  source?: string;
  /** Default: the event's own policy. Decide events only. */
  onError?: ErrorPolicy;
}

/** Notify events have no refusal, so that a handler of one has no error policy. */
export type HandlerOptionsOf<Event> = Event extends { kind: "notify" }
  ? Omit<HandlerOptions, "onError">
  : HandlerOptions;

/** The payload as handlers get it: a frozen copy, in decide events with what earlier handlers proposed. */
export type HandlerPayload<Event> = Event extends { kind: "decide" }
  ? PayloadOf<Event> & { readonly current?: ResultOf<Event> | undefined }
  : PayloadOf<Event>;

type Returned<Event> = ResultOf<Event> | undefined | void;

/** A handler of one event. */
export type Handler<Event> = (
  payload: HandlerPayload<Event>,
  context: HandlerContext<ResultOf<Event>>,
) => Returned<Event> | Promise<Returned<Event>>;

/** A handler in the registry, its event no longer known to the types. */
export interface RegisteredHandler {
  readonly call: (payload: object, context: HandlerContext<unknown>) => unknown;
  readonly source: string;
  readonly onError: ErrorPolicy | undefined;
}
