import type { ExtensionAPI } from "../api/extension-api.ts";
import { agentCalls } from "./agent-calls.ts";
import { execProgram } from "./exec-program.ts";
import { listening } from "./listening.ts";
import { providerCalls } from "./provider-calls.ts";
import { registering } from "./registering.ts";
import { rendering } from "./rendering.ts";
import type { ExtensionPlace } from "./room.ts";
import { sessionCalls } from "./session-calls.ts";
import { toolCalls } from "./tool-calls.ts";

/** The API object of one extension. Its functions need no `this`. */
export function makeApi(place: ExtensionPlace): ExtensionAPI {
  const { scope, host, room } = place;
  return {
    ...listening(place),
    ...registering(place),
    ...rendering(place),
    ...providerCalls(place),
    ...sessionCalls(place),
    ...agentCalls(place),
    ...toolCalls(place),
    exec(command, args, options) {
      scope.checkLoaded("exec");
      return execProgram(command, args, { ...options, cwd: options?.cwd ?? host.cwd });
    },
    events: room.bus.of(scope),
  };
}
