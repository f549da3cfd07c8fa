import type { InstalledPackage } from "@bonsai-agent/extension";

/** A package, in what `bonsai install`, `list` and `remove` print with `--json`. */
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
