import { type AgentNotice, type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { Handler } from "@bonsai-agent/lifecycle";
import { nearest } from "@bonsai-agent/models";
import type { ExtensionAPI } from "../api/extension-api.ts";
import { badArgument } from "./bad-argument.ts";
import { runOf } from "./extension-work.ts";
import type { ExtensionPlace } from "./room.ts";

/** How an extension listens to events. */
export function listening({ scope, host, context }: ExtensionPlace): Pick<ExtensionAPI, "on"> {
  const unknown = new Set<string>();
  return {
    on(event, handler, { onError } = {}) {
      scope.checkLoaded("on");
      if (typeof event !== "string") throw badArgument(scope, "on", "the name of an event", event);
      if (typeof handler !== "function") throw badArgument(scope, `on("${event}", …)`, "a function", handler);
      if (!Object.hasOwn(lifecycleEventRules, event)) {
        if (!unknown.has(event)) host.onNotice(unknownEvent(scope.source, event));
        unknown.add(event);
        return () => {};
      }
      const called: Handler<LifecycleEvents[typeof event]> = (payload, { signal }) =>
        // Fields that are undefined abstain: the lifecycle takes them for absent.
        runOf(scope, () => handler(payload, context(signal))) as never;
      const options = { source: scope.source, ...(onError === undefined ? {} : { onError }) };
      return scope.keep(host.lifecycle.on(event, called, options as never));
    },
  };
}

function unknownEvent(source: string, event: string): AgentNotice {
  const near = nearest(event, Object.keys(lifecycleEventRules), 2);
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  return {
    level: "warning",
    code: "extension_event_unknown",
    message: `${source} listens to ${event}, which no event is called.${meant}`,
  };
}
