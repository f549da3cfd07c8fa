import { AsyncLocalStorage } from "node:async_hooks";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type { AdaptedExtension } from "@bonsai-agent/extension/host";

/** The calling extension, for free functions of pi such as `complete(model, …)`, which get no context. */
interface InUse {
  context: ExtensionContext;
  extension: Partial<AdaptedExtension>;
}

const storage = new AsyncLocalStorage<InUse>();
let latest: InUse | undefined;

/** Applies to the caller's work from here on. */
export function useContext(context: ExtensionContext, extension: Partial<AdaptedExtension> = {}): void {
  latest = { context, extension };
  storage.enterWith(latest);
}

/** The latest one for work outside of any context; undefined before the first. */
export function inUse(): InUse | undefined {
  return storage.getStore() ?? latest;
}
