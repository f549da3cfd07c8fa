import { Lifecycle } from "@bonsai-agent/lifecycle";
import { type LifecycleEvents, lifecycleEventRules } from "../events/lifecycle-events.ts";

type Events = Lifecycle<LifecycleEvents>;

/**
 * A lifecycle of a sub-agent's own. What it does is not told as if the parent did it; but who guards the parent's tools
 * and requests, guards the sub-agent's too.
 */
export function subAgentLifecycle(parent: Events): Events {
  const lifecycle = new Lifecycle<LifecycleEvents>({
    rules: lifecycleEventRules,
    // Slow handlers are named by the parent's lifecycle.
    setTimer: () => () => {},
  });
  guardCalls(lifecycle, parent);
  guardRequests(lifecycle, parent);
  return lifecycle;
}

function guardCalls(lifecycle: Events, parent: Events): void {
  lifecycle.on("tool_call", async ({ current: _, ...event }, { signal }) => {
    const { result } = await parent.decide("tool_call", event, { signal });
    return result;
  });
  lifecycle.on("tool_result", async ({ current: _, ...event }, { signal }) => {
    if (!parent.hasHandlers("tool_result")) return undefined;
    const { payload } = await parent.decide("tool_result", event, { signal });
    const { content, details, isError, usage } = payload;
    return { content: [...content], details, isError, ...(usage === undefined ? {} : { usage }) };
  });
}

function guardRequests(lifecycle: Events, parent: Events): void {
  lifecycle.on("context", async ({ current: _, ...event }, { signal }) => {
    const { payload } = await parent.decide("context", event, { signal });
    return payload.messages === event.messages ? undefined : { messages: payload.messages };
  });
  lifecycle.on("before_provider_request", async ({ current: _, ...event }, { signal }) => {
    const { payload } = await parent.decide("before_provider_request", event, { signal });
    const changed = payload.payload;
    return changed === event.payload ? undefined : (changed as object);
  });
  lifecycle.on("after_provider_response", (event) => parent.notify("after_provider_response", event));
}
