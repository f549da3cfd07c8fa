import { pathToFileURL } from "node:url";
import type { ExtensionFactory } from "../api/extension-api.ts";
import type { VirtualModules } from "./virtual-modules.ts";

export interface ImportExtensionOptions {
  /** Absolute path of the entry module. */
  path: string;
  modules: VirtualModules;
}

/**
 * The factory of an extension's module, read from disk as it is now, with everything local that it imports.
 * @throws BonsaiError `extension_not_found`, `extension_broken`, `extension_without_factory`
 */
export async function importExtension({ path }: ImportExtensionOptions): Promise<ExtensionFactory> {
  const module = (await import(pathToFileURL(path).href)) as { default: ExtensionFactory };
  return module.default;
}
