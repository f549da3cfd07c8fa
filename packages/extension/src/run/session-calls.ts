import type { Session } from "@bonsai-agent/session";
import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionPlace } from "./room.ts";

type SessionCalls = Pick<ExtensionAPI, "appendEntry" | "setSessionName" | "getSessionName" | "setLabel">;

/** What an extension does to the session that is worked in; an agent is not needed for it. */
export function sessionCalls({ scope, host }: ExtensionPlace): SessionCalls {
  const session = (call: string): Session => {
    scope.checkStarted(call);
    const open = host.session();
    if (open === undefined) throw scope.notStarted(call);
    return open;
  };
  return {
    appendEntry(customType, data) {
      return session("appendEntry").append({
        type: "custom",
        customType,
        ...(data === undefined ? {} : { data }),
      }).id;
    },
    setSessionName(name) {
      session("setSessionName").append({ type: "session_info", name });
      void host.lifecycle.notify("session_info_changed", { type: "session_info_changed", name });
    },
    getSessionName: () => session("getSessionName").name,
    setLabel(targetId, label) {
      session("setLabel").append({ type: "label", targetId, ...(label === undefined ? {} : { label }) });
    },
  };
}
