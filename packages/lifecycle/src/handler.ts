import type { ErrorPolicy, PayloadOf, ResultOf } from "./event.ts";

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
