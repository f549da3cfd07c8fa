export type {
  DecideEvent,
  DecideNames,
  DecideRule,
  ErrorPolicy,
  EventKind,
  EventRules,
  NotifyEvent,
  NotifyNames,
  NotifyRule,
  PayloadOf,
  ResultOf,
} from "./event.ts";
export {
  type Decision,
  type HandlerContext,
  type HandlerOptions,
  Lifecycle,
  type LifecycleNotice,
  type LifecycleOptions,
} from "./lifecycle.ts";
