import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionPlace } from "./room.ts";

type ProviderCalls = Pick<ExtensionAPI, "registerProvider" | "unregisterProvider">;

/** How an extension brings providers of models; it can take away its own alone. */
export function providerCalls({ scope, room }: ExtensionPlace): ProviderCalls {
  const undosOf = new Map<string, (() => void)[]>();
  return {
    registerProvider(name, options) {
      scope.checkLoaded("registerProvider");
      const undo = scope.keep(room.providers.register(name, options));
      undosOf.set(name, [...(undosOf.get(name) ?? []), undo]);
      return undo;
    },
    unregisterProvider(name) {
      scope.checkLoaded("unregisterProvider");
      for (const undo of undosOf.get(name) ?? []) undo();
      undosOf.delete(name);
    },
  };
}
