import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { SourcePlace } from "./extension-files.ts";
import { type Generation, isInFolder, packageFolderOf, runByJiti } from "./generation.ts";
import { type ModuleExports, virtualExports } from "./virtual-modules.ts";

/** Imports an extension with all its files, as pi imports every extension. All host modules must be loaded. */
export async function importWithJiti(
  generation: Generation,
  cacheFolder: string | undefined,
): Promise<ModuleExports> {
  const { entry, modules } = generation;
  // With its parser linked, because a bundle has no file for it.
  const { createJiti } = await import("jiti/static");
  const folder = packageFolderOf(entry) || `${dirname(entry)}${sep}`;
  runByJiti(folder, generation);
  forgetRequired(folder);
  const virtualModules = Object.fromEntries(
    Object.keys(modules).map((name) => [name, virtualExports(modules, name)]),
  );
  const plain = createJiti(import.meta.url, { fsCache: false });
  const jiti = createJiti(pathToFileURL(entry).href, {
    moduleCache: false,
    fsCache: cacheFolder === undefined ? false : join(cacheFolder, "jiti"),
    virtualModules,
    tryNative: false,
    transform: (options) => ({ code: plain.transform({ ...options, retainLines: true }) }),
  });
  try {
    return await jiti.import<ModuleExports>(entry);
  } catch (error) {
    throw plainError(generation, error);
  }
}

/** A file with a syntax error. Line and column count from 1. */
export class SourceFailure extends SyntaxError {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  constructor({ path, line, column }: Required<SourcePlace>, message: string) {
    super(message);
    this.path = path;
    this.line = line;
    this.column = column;
  }
}

function sourceFailure(error: unknown): SourceFailure | undefined {
  // Columns count from 0.
  const pattern = /^\w+: ([\s\S]*?)\s*\n (.+):(\d+):(\d+)$/;
  const [, text, path, line, column] = pattern.exec((error as Error | undefined)?.message ?? "") ?? [];
  if (text === undefined || path === undefined) return undefined;
  return new SourceFailure({ path, line: Number(line), column: Number(column) + 1 }, text);
}

/** Adds the place to an error of jiti. */
function plainError(generation: Generation, error: unknown): unknown {
  const { code, message, requireStack } = (error ?? {}) as NodeJS.ErrnoException & {
    requireStack?: string[];
  };
  const specifier = /^Cannot find module '(.+?)'/.exec(message ?? "")?.[1];
  if (code === "MODULE_NOT_FOUND" && specifier !== undefined)
    generation.unresolved ??= { specifier, importer: requireStack?.[0] ?? generation.entry, error };
  return sourceFailure(error) ?? error;
}

/** Node keeps what jiti requires, such as JSON. A reload must read it again. */
function forgetRequired(folder: string): void {
  const { cache } = createRequire(import.meta.url);
  for (const file of Object.keys(cache)) if (isInFolder(folder, file)) delete cache[file];
}
