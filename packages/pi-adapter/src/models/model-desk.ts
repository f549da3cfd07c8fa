import type { ModelRegistry } from "@bonsai-agent/extension";

/**
 * Owner of the registry that free functions of `pi-ai` ask: `complete(model, …)` gets no context, so that it is the one
 * of the context that an extension got last. One for the process, as pi's own table of providers is.
 */
let latest: (() => ModelRegistry | undefined) | undefined;

/** Asked when it is needed: a context that nobody asks for models opens none. */
export function useRegistry(registry: () => ModelRegistry | undefined): void {
  latest = registry;
}

export function registryInUse(): ModelRegistry | undefined {
  return latest?.();
}
