import { realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { ExtensionFiles, localFile } from "./extension-files.ts";
import { insteadOf } from "./load-failure.ts";
import { type StaticImport, staticImports } from "./runnable-source.ts";
import { packageOf, survey } from "./survey.ts";
import { placeOfImport } from "./thrown-error.ts";
import { loadVirtualModule, type VirtualModules, virtualExports } from "./virtual-modules.ts";

/** An import that will fail when its file is loaded. */
export interface FailingImport {
  /** Absolute. */
  path: string;
  /** Counts from 1. */
  line: number;
  specifier: string;
  /** The name that the module does not export. Undefined if the module itself is missing. */
  name?: string;
  /** The replacement to suggest to the author. */
  instead?: string;
}

/** Finds the imports of an extension's own files that will fail. Runs none of its code. */
export async function failingImports(entry: string, modules: VirtualModules): Promise<FailingImport[]> {
  const { files } = survey(realpathSync(entry), new ExtensionFiles(entry, undefined), modules);
  const found = [...files].flatMap(([path, { text }]) =>
    staticImports(text).map((each) => ({ path, ...each })),
  );
  const failing: FailingImport[] = [];
  for (const each of found) {
    if (Object.hasOwn(modules, each.specifier)) failing.push(...(await missingNames(each, modules)));
    else if (isMissing(each)) failing.push(placed(each));
  }
  return failing;
}

type FoundImport = StaticImport & { path: string };

async function missingNames(
  { path, specifier, names }: FoundImport,
  modules: VirtualModules,
): Promise<FailingImport[]> {
  await loadVirtualModule(modules, specifier);
  const exports = virtualExports(modules, specifier) ?? {};
  return names
    .filter((name) => !Object.hasOwn(exports, name))
    .map((name) => {
      const instead = insteadOf(exports, name);
      return { ...placed({ path, specifier }, name), name, ...(instead === undefined ? {} : { instead }) };
    });
}

/** True for a file or a package that is not there. */
function isMissing({ path, specifier }: FoundImport): boolean {
  if (specifier.startsWith(".")) return localFile(specifier, path) === undefined;
  return (
    /^[@\w]/.test(specifier) &&
    !specifier.includes(":") &&
    !isBuiltin(specifier) &&
    packageOf(specifier, path) === undefined
  );
}

function placed({ path, specifier }: Pick<FoundImport, "path" | "specifier">, name?: string) {
  return { path, line: placeOfImport(path, specifier, name)?.line ?? 1, specifier };
}
