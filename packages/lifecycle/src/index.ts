export type {
  DecideEvent,
  DecideNames,
  DecideRule,
  ErrorPolicy,
  EventRules,
  Handler,
  HandlerContext,
  HandlerOptions,
  HandlerPayload,
  NotifyEvent,
  NotifyNames,
  NotifyRule,
  PayloadOf,
  PayloadRule,
  ResultOf,
} from "./event.ts";
export {
  type Decision,
  describeNotice,
  type HandlerWait,
  type LifecycleNotice,
  type SetTimer,
} from "./handler-runner.ts";
export { type CallOptions, Lifecycle, type LifecycleOptions } from "./lifecycle.ts";
