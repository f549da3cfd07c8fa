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

/**
 * What a throw means. "report": a notice, and the event goes on as if the handler had abstained.
 * "cancel": a notice, and the throw counts as the event's refusal (`{cancel: true}`, `{block: true}`, …).
 */
export type ErrorPolicy = "report" | "cancel";
