import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ProviderOptions } from "../api/provider-options.ts";
import { runOf } from "./extension-work.ts";
import type { ExtensionPlace } from "./room.ts";

type ProviderCalls = Pick<ExtensionAPI, "registerProvider" | "unregisterProvider">;

/** How an extension brings providers of models; what it says of one again adds to what it said, as in pi. */
export function providerCalls({ scope, room }: ExtensionPlace): ProviderCalls {
  const own = new Map<string, { options: ProviderOptions; undo: () => void }>();
  return {
    registerProvider(name, options) {
      scope.checkLoaded("registerProvider");
      const said = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
      const all: ProviderOptions = { ...own.get(name)?.options, ...Object.fromEntries(said) };
      const { stream } = all;
      const takeOut = room.providers.register(name, {
        ...all,
        ...(typeof stream === "function"
          ? { stream: (request) => runOf(scope, () => stream.call(all, request)) }
          : {}),
      });
      const undo = scope.keepAs(`provider ${name}`, () => {
        if (own.get(name)?.undo === undo) own.delete(name);
        takeOut();
      });
      own.set(name, { options: all, undo });
      return undo;
    },
    unregisterProvider(name) {
      scope.checkLoaded("unregisterProvider");
      own.get(name)?.undo();
    },
  };
}
