import { openModels } from "./context/opened-models.ts";
import type { Extensions, LoadExtensionsOptions } from "./extensions.ts";
import { RunningExtensions } from "./running-extensions.ts";

/**
 * Loads extensions one after the other, in load order. One that fails is reported, what it had registered is undone,
 * and the others load. Never rejects for an extension's fault.
 */
export async function loadExtensions(options: LoadExtensionsOptions): Promise<Extensions> {
  const extensions = new RunningExtensions(options, await openModels(options.host));
  await extensions.load();
  return extensions;
}
