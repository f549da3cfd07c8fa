import type { CustomEntry, Session } from "@bonsai-agent/session";
import type { ExtensionAPI } from "../api/extension-api.ts";
import { badArgument } from "./bad-argument.ts";
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
      const open = session("appendEntry");
      if (typeof customType !== "string" || customType === "")
        throw badArgument(scope, "appendEntry", "a customType, a text", customType);
      const entry = open.append({ type: "custom", customType, ...(data === undefined ? {} : { data }) });
      host.onEntry?.(entry as CustomEntry);
      return entry.id;
    },
    setSessionName(name) {
      const open = session("setSessionName");
      if (typeof name !== "string") throw badArgument(scope, "setSessionName", "a text", name);
      open.append({ type: "session_info", name });
      // Handlers that fail are told of by the lifecycle; nothing here waits for them.
      void host.lifecycle.notify("session_info_changed", { type: "session_info_changed", name: open.name });
    },
    getSessionName: () => session("getSessionName").name,
    setLabel(targetId, label) {
      const open = session("setLabel");
      if (typeof targetId !== "string" || open.entry(targetId) === undefined)
        throw badArgument(scope, "setLabel", "the id of an entry of this session", targetId);
      if (label !== undefined && typeof label !== "string")
        throw badArgument(scope, "setLabel", "a text, or undefined to take the label away", label);
      open.append({ type: "label", targetId, ...(label === undefined ? {} : { label }) });
    },
  };
}
