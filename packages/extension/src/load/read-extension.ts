import { readFileSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import { entryUrl, installExtensionHook, namedModules } from "./extension-hook.ts";
import { dropGeneration, type Generation, newGeneration, packageFolderOf } from "./generation.ts";
import { lateImports } from "./late-imports.ts";
import { loadFailure, missingExport } from "./load-failure.ts";
import { isLoaded, loadVirtualModule, PENDING_URL } from "./loaded-modules.ts";
import { nativeImport } from "./native-import.ts";
import { placeAbove } from "./source-place.ts";
import { loadTranspiler, ParseFailure, transpile } from "./transpile.ts";
import type { ModuleExports, VirtualModules } from "./virtual-modules.ts";

/** An entry module whose files, those imported and those to be rewritten, come to be known as it is read. */
interface Reading {
  /** Real path. */
  entry: string;
  modules: VirtualModules;
}

/**
 * Imports a new generation of an extension. What is missing for that (modules of the host that are not loaded yet,
 * files with syntax that Node does not strip) makes Node refuse the modules before it runs any of them; then it is
 * provided, and another generation tried.
 * @throws BonsaiError
 */
export async function readExtension({ entry, modules }: Reading): Promise<ModuleExports> {
  installExtensionHook();
  const transpiled = new Set<string>();
  const source = readFileSync(entry, "utf8");
  await loadModules(modules, namedModules(modules, source), entry);
  let late: Generation["late"] = lateImports(source).length > 0 ? "trial" : "unknown";
  for (;;) {
    const generation = newGeneration({ entry, modules, transpiled: new Set(transpiled), late });
    try {
      const exports = await nativeImport(entryUrl(generation));
      generation.sources.clear();
      return exports;
    } catch (error) {
      dropGeneration(generation);
      const wanted = [...generation.wanted].filter((name) => !isLoaded(modules, name));
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
        message: `${entry}: ${name}, which Bonsai gives to extensions, cannot be loaded: ${(cause as Error).message}`,
        hint: "This is a fault of the installation: install Bonsai again.",
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
