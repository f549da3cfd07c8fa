import { join } from "node:path";
import type { FindProblem } from "../load/found-extension.ts";
import { type PackageRecord, readRecords, versionsFolder } from "./package-records.ts";

/** A package that `bonsai install` brought, or that it was told of. */
export interface InstalledPackage {
  /** The npm name; of what has none, its path. */
  name: string;
  /** Absolute: the folder with its files; of a lone module, the module itself. It may be gone. */
  folder: string;
  /** `npm:NAME` or `npm:NAME@VERSION`, or an absolute path. */
  source: string;
  version?: string;
}

export interface InstalledPackages {
  /** In the order in which they were first installed, which is the order in which they load. */
  packages: readonly InstalledPackage[];
  /** Records that cannot be read. */
  problems: readonly FindProblem[];
}

/** The packages of a user, by the records in `<home>/packages`. */
export function installedPackages(home: string): InstalledPackages {
  const { records, problems } = readRecords(home);
  return { packages: records.map((record) => installedPackage(home, record)), problems };
}

export function installedPackage(
  home: string,
  { name, source, version, copy }: PackageRecord,
): InstalledPackage {
  const folder = copy === undefined ? source : join(versionsFolder(home, name), copy, "package");
  return { name, folder, source, ...(version === undefined ? {} : { version }) };
}
