import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionFactory } from "../api/extension-api.ts";
import { ExtensionFiles } from "./extension-files.ts";
import { installExtensionHook } from "./extension-hook.ts";
import { dropGeneration, newGeneration, withGeneration } from "./generation.ts";
import { findHostImports } from "./host-imports.ts";
import { importWithJiti } from "./jiti-import.ts";
import { loadFailure, missingExport } from "./load-failure.ts";
import { nativeImport } from "./native-import.ts";
import { NotForNode } from "./runnable-source.ts";
import {
  loadVirtualModule,
  type ModuleExports,
  NotLoadedYet,
  type VirtualModules,
} from "./virtual-modules.ts";

export interface ImportExtensionOptions {
  path: string;
  /** Host modules. Only the imported ones are loaded. */
  modules: VirtualModules;
  /** Milliseconds to load the module. Default 10,000. */
  timeoutMs?: number;
  /** Folder for converted texts. Default: nothing is kept. */
  cacheFolder?: string;
}

/**
 * Loads an extension's module from disk, with all local files that it imports. Each call makes new instances.
 * @throws BonsaiError `extension_not_found`, `extension_broken`, `extension_hung`, `extension_module_missing`,
 * `extension_export_missing`, `extension_without_factory`
 */
export async function importExtension(options: ImportExtensionOptions): Promise<ExtensionFactory> {
  const { path, timeoutMs = 10_000 } = options;
  const hung = () =>
    new BonsaiError({
      code: "extension_hung",
      message: `${path} did not load within ${timeoutMs / 1000} s: a top-level await in its modules never ends.`,
      hint: "Await slow work in a handler instead of at the top level.",
    });
  const exports = await withinTime(() => readExtension(options), timeoutMs, hung);
  return factoryOf(path, exports);
}

function entryFile(path: string): string {
  const notFound = (why: string, cause?: unknown) =>
    new BonsaiError({
      code: "extension_not_found",
      message: `Cannot read the extension ${path}: ${why}.`,
      hint: "Give the path of a .ts, .mts, .js or .mjs file.",
      ...(cause === undefined ? {} : { cause }),
    });
  let entry: string;
  try {
    entry = realpathSync(path);
    accessSync(entry, constants.R_OK);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw notFound(code === "ENOENT" ? "the file does not exist" : message, cause);
  }
  if (!statSync(entry).isFile()) throw notFound("it is not a file");
  return entry;
}

/** @throws the error of `hung` after the time limit */
export async function withinTime<T>(
  work: () => Promise<T>,
  limitMs: number,
  hung: () => BonsaiError,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(hung()), limitMs);
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function factoryOf(path: string, exports: ModuleExports): ExtensionFactory {
  const { default: exported } = exports;
  // A compiler's `export default` in a CommonJS module.
  const inner = (exported as { default?: unknown } | null | undefined)?.default;
  const factory = typeof exported === "function" ? exported : inner;
  if (typeof factory === "function") return factory as ExtensionFactory;
  const found = Object.entries(exports).map(
    ([name, value]) => `${name} (${value === null ? "null" : typeof value})`,
  );
  throw new BonsaiError({
    code: "extension_without_factory",
    message: `${path} must export a default function, but it exports ${found.join(", ") || "nothing"}.`,
    hint: "Write `export default function (bonsai) { … }`.",
  });
}

/**
 * Imports a new generation of an extension: with Node, or with jiti if Node refuses one of its files. Node refuses
 * before it runs any file. jiti for everything was slower: 50 extensions took 250 ms from its cache, with Node 104 ms.
 * @throws BonsaiError
 */
async function readExtension({ path, modules, cacheFolder }: ImportExtensionOptions): Promise<ModuleExports> {
  installExtensionHook();
  const entry = entryFile(path);
  const files = new ExtensionFiles(entry, cacheFolder);
  const wanted = findHostImports(entry, files, modules);
  files.save();
  if (wanted !== undefined) {
    await loadModules(modules, wanted, entry);
    const generation = newGeneration({ entry, modules, files });
    try {
      return await nativeImport(withGeneration(pathToFileURL(entry).href, generation));
    } catch (error) {
      if (!isRefusal(error)) throw loadFailure(generation, error);
      dropGeneration(generation);
    }
  }
  await loadModules(modules, Object.keys(modules), entry);
  const generation = newGeneration({ entry, modules, files });
  try {
    return await importWithJiti(generation, cacheFolder);
  } catch (error) {
    throw loadFailure(generation, error);
  }
}

async function loadModules(modules: VirtualModules, names: Iterable<string>, entry: string): Promise<void> {
  for (const name of names) {
    try {
      await loadVirtualModule(modules, name);
    } catch (cause) {
      throw new BonsaiError({
        code: "extension_broken",
        message: `${entry}: cannot load ${name}, which is part of Bonsai: ${(cause as Error).message}`,
        hint: "The installation of Bonsai is damaged. Install Bonsai again.",
        cause,
      });
    }
  }
}

/** Node's codes for files that it does not run: TypeScript in packages, and JSX. */
const REFUSALS = [
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNKNOWN_FILE_EXTENSION",
];

/** True if Node refused a file, or could not compile it. A SyntaxError that a module threw has the module in its stack. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NotForNode || error instanceof NotLoadedYet) return true;
  if (error instanceof SyntaxError)
    return !/[?&]bonsai=/.test(error.stack ?? "") && missingExport(error) === undefined;
  return REFUSALS.includes((error as NodeJS.ErrnoException | undefined)?.code ?? "");
}
