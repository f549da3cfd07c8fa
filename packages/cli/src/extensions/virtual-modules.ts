import { hostModules, type VirtualModules } from "@bonsai-agent/extension";
import { piModules } from "@bonsai-agent/pi-adapter";

/** What extensions import by name and get from the command itself: there may be no `node_modules` beside them. */
export function virtualModules(): VirtualModules {
  return {
    ...piModules(),
    ...hostModules(),
    "@bonsai-agent/transcripts": () => import("@bonsai-agent/transcripts"),
  };
}
