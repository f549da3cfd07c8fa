import type { ExtensionFactory } from "../api/extension-api.ts";
import { importExtension } from "../load/import-extension.ts";
import type { LoadExtensionsOptions, LoadedExtension } from "./extensions.ts";

/** An extension and how to come by its factory. */
export interface ExtensionToStart {
  found: Omit<LoadedExtension, "loadMs">;
  factory: () => Promise<ExtensionFactory>;
}

/** All that is to be loaded now, in load order; what was looked for in vain is a notice each. */
export function extensionsToStart(options: LoadExtensionsOptions): ExtensionToStart[] {
  const { host, find, modules, inline = [] } = options;
  const { extensions, problems } = find();
  for (const { path, message, hint } of problems) {
    const what = message.includes(path) ? message : `${path}: ${message}`;
    host.onNotice({ level: "warning", code: "extension_not_found", message: `${what} ${hint}` });
  }
  return [
    ...inline.map(({ name, factory }) => ({
      found: { path: `inline:${name}`, origin: "inline" as const },
      factory: async () => factory,
    })),
    ...extensions.map((found) => ({ found, factory: () => importExtension({ path: found.path, modules }) })),
  ];
}
