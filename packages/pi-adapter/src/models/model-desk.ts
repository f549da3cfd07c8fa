import type { ExtensionContext, ModelRegistry } from "@bonsai-agent/extension";

/**
 * Owner of the context whose models free functions ask: `complete(model, …)` of `pi-ai` gets none, so that it is the one
 * that an extension got last. One for the process, as pi's own table of providers is.
 */
let latest: ExtensionContext | undefined;

export function useContext(context: ExtensionContext): void {
  latest = context;
}

export function contextInUse(): ExtensionContext | undefined {
  return latest;
}

export function registryInUse(): ModelRegistry | undefined {
  return latest?.modelRegistry;
}
