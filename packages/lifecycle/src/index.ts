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
export type { SetTimer, SlowAnswer } from "./handler-runner.ts";
export { type CallOptions, Lifecycle } from "./lifecycle.ts";
export { describeNotice, type LifecycleNotice } from "./notice.ts";
