export type { SetTimer, SlowAnswer } from "./decision.ts";
export type {
  DecideEvent,
  DecideRule,
  EventRules,
  Handler,
  NotifyEvent,
  PayloadOf,
  ResultOf,
} from "./event.ts";
export { Lifecycle } from "./lifecycle.ts";
export { describeNotice, type LifecycleNotice } from "./notice.ts";
