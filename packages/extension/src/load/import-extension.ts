import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionFactory } from "../api/extension-api.ts";
import { installExtensionHook, lateImports, namedModules } from "./extension-hook.ts";
import {
  dropGeneration,
  type Generation,
  marked,
  newGeneration,
  packageFolderOf,
  want,
} from "./generation.ts";
import { loadFailure, missingExport } from "./load-failure.ts";
import { nativeImport } from "./native-import.ts";
import { placeAbove } from "./thrown-error.ts";
import { loadTranspiler, ParseFailure, transpile } from "./transpile.ts";
import {
  loadVirtualModule,
  type ModuleExports,
  PENDING_URL,
  type VirtualModules,
} from "./virtual-modules.ts";

// Node reads extensions, through the hooks of this folder; jiti 2.7 only rewrites what Node cannot strip. Measured with
// jiti for all of it: 37 of 114 loading tests failed, for a reload gave JSON and CommonJS as they had been, a name that
// a module does not export was undefined, and the host's modules all had to be loaded first. 1, 10 and 50 extensions
// started in 610, 850 and 2,270 ms (150, 170 and 250 ms with jiti's cache on disk), here in 13, 28 and 104 ms. Of the
// command this folder is 35 kB, and jiti 2.2 MB, which are only read where it rewrites.

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
  const hung = () =>
    new BonsaiError({
      code: "extension_hung",
      message: `${path} did not load within ${timeoutMs / 1000} s: a top-level await in its modules never ends.`,
      hint: "Await slow work in a handler instead of at the top level.",
    });
  const exports = await withinTime(() => readExtension(entry, modules), timeoutMs, hung);
  return factoryOf(path, exports);
}

function entryFile(path: string): string {
  try {
    const entry = realpathSync(path);
    accessSync(entry, constants.R_OK);
    if (statSync(entry).isFile()) return entry;
  } catch (cause) {
    const gone = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw notFound(path, gone ? "the file does not exist" : (cause as Error).message, cause);
  }
  throw notFound(path, "it is not a file");
}

function notFound(path: string, why: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "extension_not_found",
    message: `Cannot read the extension ${path}: ${why}.`,
    hint: "Give the path of a .ts, .mts, .js or .mjs file.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** @throws what `hung` gives, for work that does not end in time */
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
  // What a compiler makes of `export default` in a CommonJS module.
  const inner = (exported as { default?: unknown } | null | undefined)?.default;
  const factory = typeof exported === "function" ? exported : inner;
  if (typeof factory === "function") return factory as ExtensionFactory;
  const names = Object.keys(exports);
  throw new BonsaiError({
    code: "extension_without_factory",
    message: `${path} must export a default function, but it exports ${exportsText(exports, names)}.`,
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

/**
 * Imports a new generation of an extension. What is missing for that (modules of the host that are not loaded yet,
 * files with syntax that Node does not strip) makes Node refuse the modules before it runs any of them; then it is
 * provided, and another generation tried.
 * @throws BonsaiError
 */
async function readExtension(entry: string, modules: VirtualModules): Promise<ModuleExports> {
  installExtensionHook();
  const transpiled = new Set<string>();
  const source = readFileSync(entry, "utf8");
  await loadModules(modules, namedModules(modules, source), entry);
  let late: Generation["late"] = lateImports(source).length > 0 ? "trial" : "unknown";
  for (;;) {
    const generation = newGeneration({ entry, modules, transpiled: new Set(transpiled), late });
    try {
      const exports = await nativeImport(marked(pathToFileURL(entry).href, generation));
      generation.sources.clear();
      return exports;
    } catch (error) {
      dropGeneration(generation);
      const wanted = want(generation, [...generation.wanted]);
      const files = wanted.length > 0 ? [] : filesToTranspile(generation, error);
      if (wanted.length === 0 && files.length === 0) {
        if (!generation.hasLate) throw loadFailure(generation, await withPlace(generation, error));
        late = late === "trial" ? "known" : "trial";
      }
      await loadModules(modules, wanted, entry);
      if (files.length > 0) await loadTranspiler();
      for (const file of files) transpiled.add(file);
    }
  }
}

async function loadModules(modules: VirtualModules, names: readonly string[], entry: string): Promise<void> {
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

/** The files that may load when they are rewritten; none where that is no remedy or was tried. */
function filesToTranspile(generation: Generation, error: unknown): string[] {
  const { transpiled, sources, unfit } = generation;
  if (unfit.size > 0) return [...unfit];
  const missing = missingExport(error);
  if (missing?.specifier === PENDING_URL) return [];
  const typescript = [...sources.keys()].filter((path) => /\.m?ts$/.test(path) && !transpiled.has(path));
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING") {
    return typescript.filter((path) => packageFolderOf(path) !== "");
  }
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" || missing !== undefined) {
    const place = placeAbove(error);
    return typescript.filter((path) => place === undefined || path === place.path);
  }
  // Decorators are left in by Node, and are no JavaScript yet.
  return isCompileError(error) ? typescript.filter((path) => sources.get(path)?.includes("@")) : [];
}

/** True where Node could not compile a module; a SyntaxError that a module threw names the module in its stack. */
function isCompileError(error: unknown): boolean {
  return (
    error instanceof SyntaxError && !(error instanceof ParseFailure) && !/[?&]bonsai=/.test(error.stack ?? "")
  );
}

/** Node does not say where a module cannot be compiled; the transpiler's parser does. */
async function withPlace({ sources }: Generation, error: unknown): Promise<unknown> {
  if (!isCompileError(error)) return error;
  await loadTranspiler();
  for (const [path, source] of [...sources].reverse()) {
    try {
      transpile(path, source);
    } catch (failure) {
      if (failure instanceof ParseFailure) return failure;
    }
  }
  return error;
}
