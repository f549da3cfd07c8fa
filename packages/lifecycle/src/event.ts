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

/** Event names to `NotifyEvent` or `DecideEvent`; an interface of a package extends it in shape only. */
export type EventKind = NotifyEvent<object> | DecideEvent<object, object>;

export type NotifyNames<Events> = {
  [Name in keyof Events]: Events[Name] extends { kind: "notify" } ? Name : never;
}[keyof Events];
export type DecideNames<Events> = {
  [Name in keyof Events]: Events[Name] extends { kind: "decide" } ? Name : never;
}[keyof Events];
export type PayloadOf<Event> = Event extends { payload: infer Payload } ? Payload : never;
export type ResultOf<Event> = Event extends { result: infer Result } ? Result : never;

/** How the results of one decide event combine. */
export interface DecideRule<Result extends object> {
  readonly kind: "decide";
  /** What a throw means, unless the handler was registered with another policy. */
  readonly onError: ErrorPolicy;
  /** Fields that only one handler can own: a second one that sets it wins, and a conflict notice names both. */
  readonly exclusive: readonly (keyof Result)[];
  /** True when this result ends the chain: later handlers are not called. */
  final(result: Result): boolean;
  /** The result that stands for a throw under the policy "cancel". */
  refusal(error: unknown): Result;
}
export interface NotifyRule {
  readonly kind: "notify";
}

/** "report": a notice, and the chain goes on. "cancel": the throw counts as the event's refusal. */
export type ErrorPolicy = "report" | "cancel";

/** One rule for each event: no event can be missing. */
export type EventRules<Events> = {
  readonly [Name in keyof Events]: Events[Name] extends { kind: "decide" }
    ? DecideRule<ResultOf<Events[Name]> & object>
    : NotifyRule;
};
