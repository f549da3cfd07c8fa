import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { Handler } from "@bonsai-agent/lifecycle";
import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionPlace } from "./room.ts";

/** How an extension listens to events. */
export function listening({ scope, host, context }: ExtensionPlace): Pick<ExtensionAPI, "on"> {
  return {
    on(event, handler, { onError } = {}) {
      scope.checkLoaded("on");
      if (!Object.hasOwn(lifecycleEventRules, event)) {
        host.onNotice({
          level: "warning",
          code: "extension_event_unknown",
          message: `${scope.source} listens to ${event}, which no event is called.`,
        });
        return () => {};
      }
      const called: Handler<LifecycleEvents[typeof event]> = (payload, { signal }) =>
        handler(payload, context(signal));
      const options = { source: scope.source, ...(onError === undefined ? {} : { onError }) };
      return scope.keep(host.lifecycle.on(event, called, options as never));
    },
  };
}
