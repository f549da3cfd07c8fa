import type { DecideEvent, ErrorPolicy, PayloadOf } from "./event.ts";

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
