import type { DecideRule, EventRules } from "@bonsai-agent/lifecycle";
import type { SessionEvents } from "./session-events.ts";

const notify = { kind: "notify" } as const;
const cancellable: DecideRule<{ cancel?: boolean }> = {
  kind: "decide",
  onError: "report",
  exclusive: [],
  final: (result) => result.cancel === true,
  refusal: () => ({ cancel: true }),
  isResult: (value) => "cancel" in value || Object.keys(value).length === 0,
};

export const sessionEventRules: EventRules<SessionEvents> = {
  session_start: notify,
  session_shutdown: notify,
  session_info_changed: notify,
  session_before_switch: cancellable,
  session_before_fork: cancellable,
};
