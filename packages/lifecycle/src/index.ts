export type { SetTimer } from "./call-handler.ts";
export type { Decision } from "./decision.ts";
export type {
  DecideEvent,
  DecideNames,
  ErrorPolicy,
  EventKind,
  NotifyEvent,
  NotifyNames,
  PayloadOf,
  ResultOf,
} from "./event.ts";
export type { Handler, HandlerContext, HandlerOptions, HandlerPayload } from "./handler.ts";
export type { HandlerWait } from "./handler-runner.ts";
export { type CallOptions, Lifecycle, type LifecycleOptions } from "./lifecycle.ts";
export { describeNotice, type LifecycleNotice } from "./notice.ts";
export type { DecideRule, EventRules, NotifyRule, PayloadRule } from "./rule.ts";
