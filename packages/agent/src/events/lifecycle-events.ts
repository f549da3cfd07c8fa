import { type CompactionEvents, compactionEventRules } from "@bonsai-agent/compaction";
import type { EventRules } from "@bonsai-agent/lifecycle";
import { runEventRules } from "./run-event-rules.ts";
import type { RunEvents } from "./run-events.ts";
import { sessionEventRules } from "./session-event-rules.ts";
import type { SessionEvents } from "./session-events.ts";

/** Every event of a session at work. */
export interface LifecycleEvents extends SessionEvents, CompactionEvents, RunEvents {}

/** How every event behaves; `new Lifecycle({rules})` takes them. */
export const lifecycleEventRules: EventRules<LifecycleEvents> = {
  ...sessionEventRules,
  ...compactionEventRules,
  ...runEventRules,
};
