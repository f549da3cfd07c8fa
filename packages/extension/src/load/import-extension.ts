import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionFactory } from "../api/extension-api.ts";
import { readExtension } from "./read-extension.ts";
import type { ModuleExports, VirtualModules } from "./virtual-modules.ts";

export interface ImportExtensionOptions {
  /** Absolute path of the entry module. */
  path: string;
  /** What the host gives; only what the extension imports is loaded. */
  modules: VirtualModules;
  /** Milliseconds that the module may take to load. Default 30,000. */
  timeoutMs?: number;
}

/**
 * The factory of an extension's module, read from disk as it is now, with everything local that it imports: each call
 * gives instances of its own, shared with no other extension and no earlier call.
 * @throws BonsaiError `extension_not_found`, `extension_broken`, `extension_hung`, `extension_module_missing`,
 * `extension_export_missing`, `extension_package_invalid`, `extension_without_factory`
 */
export async function importExtension(options: ImportExtensionOptions): Promise<ExtensionFactory> {
  const { path, modules, timeoutMs = 30_000 } = options;
  const entry = entryFile(path);
  const exports = await withinTime(readExtension({ entry, modules }), { path, timeoutMs });
  return factoryOf(path, exports);
}

function entryFile(path: string): string {
  try {
    const entry = realpathSync(path);
    accessSync(entry, constants.R_OK);
    if (statSync(entry).isFile()) return entry;
  } catch (cause) {
    const gone = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw notFound(path, gone ? "there is no such file" : (cause as Error).message, cause);
  }
  throw notFound(path, "that is no file");
}

function notFound(path: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "extension_not_found",
    message: `The extension ${path} cannot be read: ${why}.`,
    hint: "Name a .ts, .mts, .js or .mjs file.",
    ...(cause === undefined ? {} : { cause }),
  });
}

async function withinTime<T>(
  work: Promise<T>,
  { path, timeoutMs }: Pick<Required<ImportExtensionOptions>, "path" | "timeoutMs">,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const hung = () =>
    new BonsaiError({
      code: "extension_hung",
      message: `${path} was not loaded within ${timeoutMs / 1000} s: an await at the top level of its modules does not end.`,
      hint: "Await slow things in a handler, not while the module is loaded.",
    });
  const timer = setTimeout(() => late.reject(hung()), timeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function factoryOf(path: string, exports: ModuleExports): ExtensionFactory {
  const { default: exported } = exports;
  // What a compiler makes of `export default` in a CommonJS module.
  const inner = (exported as { default?: unknown } | null | undefined)?.default;
  const factory = typeof exported === "function" ? exported : inner;
  if (typeof factory === "function") return factory as ExtensionFactory;
  const names = Object.keys(exports);
  throw new BonsaiError({
    code: "extension_without_factory",
    message: `${path} has no function as its default export; it exports ${exportsText(exports, names)}.`,
    hint: "Write `export default function (bonsai) { … }`.",
  });
}

function exportsText(exports: ModuleExports, names: readonly string[]): string {
  if (names.length === 0) return "nothing";
  return names.map((name) => `${name} (${typeName(exports[name])})`).join(", ");
}

function typeName(value: unknown): string {
  return value === null ? "null" : typeof value;
}
