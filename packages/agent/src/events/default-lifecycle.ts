import { describeNotice, Lifecycle } from "@bonsai-agent/lifecycle";
import type { AgentNotice } from "../notice.ts";
import { type LifecycleEvents, lifecycleEventRules } from "./lifecycle-events.ts";

/** A lifecycle without handlers whose notices go the way of all others. */
export function defaultLifecycle(onNotice: (notice: AgentNotice) => void): Lifecycle<LifecycleEvents> {
  return new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    onNotice: (notice) => onNotice({ level: "warning", code: notice.type, message: describeNotice(notice) }),
  });
}
