export type { SetTimer, SlowAnswer } from "./decision.ts";
export type {
  DecideEvent,
  DecideNames,
  DecideRule,
  EventRules,
  Handler,
  HandlerPayload,
  NotifyEvent,
  PayloadOf,
  ResultOf,
} from "./event.ts";
export { type CallOptions, Lifecycle } from "./lifecycle.ts";
export { describeNotice, type LifecycleNotice } from "./notice.ts";
