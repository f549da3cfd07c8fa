import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";

/** Every event that there is, for an extension that listens to all of them. */
export const lifecycleEventNames: readonly (keyof LifecycleEvents & string)[] = Object.freeze(
  Object.keys(lifecycleEventRules) as (keyof LifecycleEvents & string)[],
);
