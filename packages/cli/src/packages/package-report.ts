import { realpathSync } from "node:fs";
import { basename, relative } from "node:path";
import type { FailingImport } from "@bonsai-agent/extension/host";
import type { InstalledPackage } from "../call/installed-packages.ts";
import type { Output } from "../call/output.ts";

/** A package, in what `bonsai extension add`, `list` and `remove` print with `--json`. */
export interface PackageReport {
  /** The npm name; of what has none, its path. */
  name: string;
  /** Null where its package.json names none. */
  version: string | null;
  /** `npm:NAME` or `npm:NAME@VERSION`, or an absolute path. */
  source: string;
  /** Absolute: where its files are; of a lone module, the module itself. */
  folder: string;
}

export function packageReport({ name, version, source, folder }: InstalledPackage): PackageReport {
  return { name, version: version ?? null, source, folder };
}

/** Warns about each missing import of a package, because its extension will not load. */
export async function warnOfImports(
  output: Output,
  { name, folder }: InstalledPackage,
  entries: readonly string[],
): Promise<void> {
  const { failingImports } = await import("@bonsai-agent/extension/host");
  const { virtualModules } = await import("../call/start-extensions.ts");
  const found = await Promise.all(entries.map((entry) => failingImports(entry, virtualModules())));
  const warnings = found.flat().map((failing) => {
    const path = relative(realpathSync(folder), failing.path) || basename(failing.path);
    return `${name}: ${path}:${failing.line} imports ${problemOf(failing)} The extension will not load.${failing.instead === undefined ? "" : ` ${failing.instead}`}`;
  });
  for (const message of new Set(warnings))
    output.notify({
      /** An added or updated extension imports a name or a module that does not exist. */
      code: "extension_import_missing",
      message,
    });
}

function problemOf({ specifier, name }: FailingImport): string {
  if (name !== undefined) return `${name} from ${specifier}, but Bonsai's ${specifier} does not export it.`;
  return `${specifier}, but ${specifier.startsWith(".") ? "that file does not exist" : "it is not installed"}.`;
}
