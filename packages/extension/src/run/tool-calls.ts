import type { ExtensionAPI } from "../api/extension-api.ts";
import { agentFor } from "./agent-calls.ts";
import { badArgument } from "./bad-argument.ts";
import type { ExtensionPlace } from "./room.ts";

type ToolCalls = Pick<ExtensionAPI, "getActiveTools" | "getAllTools" | "setActiveTools">;

/** What an extension knows of the agent's tools, and which it lets the model be offered. */
export function toolCalls(place: ExtensionPlace): ToolCalls {
  const { room, scope } = place;
  return {
    getActiveTools: () => [...agentFor(place, "getActiveTools").tools.active],
    getAllTools() {
      const all = agentFor(place, "getAllTools").tools.allTools();
      return all.map(({ name, description, parameters }) => {
        const own = room.tools.get(name);
        return {
          name,
          description,
          parameters,
          ...(own === undefined ? {} : { extensionPath: own.path }),
        };
      });
    },
    setActiveTools(names) {
      agentFor(place, "setActiveTools");
      if (!Array.isArray(names) || names.some((name) => typeof name !== "string"))
        throw badArgument(scope, "setActiveTools", "a list of names", names);
      scope.keepAs("choice of tools", room.tools.choose(names));
    },
  };
}
