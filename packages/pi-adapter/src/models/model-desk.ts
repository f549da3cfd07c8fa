import { AsyncLocalStorage } from "node:async_hooks";
import type { ExtensionContext, ModelRegistry } from "@bonsai-agent/extension";

/**
 * Owners of the context whose models free functions ask: `complete(model, …)` of `pi-ai` gets none. It is the one that
 * the work goes back to which calls them; for work that goes back to none, the one that was given last.
 */
const given = new AsyncLocalStorage<ExtensionContext>();
let latest: ExtensionContext | undefined;

/** For all that the caller does from here on. */
export function useContext(context: ExtensionContext): void {
  given.enterWith(context);
  latest = context;
}

export function contextInUse(): ExtensionContext | undefined {
  return given.getStore() ?? latest;
}

export function registryInUse(): ModelRegistry | undefined {
  return contextInUse()?.modelRegistry;
}
