import { copyPackage } from "./copy-package.ts";
import { type InstalledPackage, installedPackage } from "./installed-packages.ts";
import { removeIfEmpty, removeLeftovers } from "./leftovers.ts";
import { packageEntries } from "./package-entries.ts";
import { packageManifest } from "./package-manifest.ts";
import { type PackageRecord, readRecords, versionsFolder, writeRecord } from "./package-records.ts";
import {
  type LocalSource,
  type NpmSource,
  packageSource,
  sourceText,
  type TarballSource,
} from "./package-source.ts";
import { removeCopy, removeInstalled } from "./remove-package.ts";
import { openStagingFolder } from "./staging-folder.ts";

export interface InstallPackageOptions {
  /** Bonsai's home folder. */
  home: string;
  /** `npm:NAME[@VERSION]`, or the path of a folder, a module or a tarball. */
  source: string;
  /** Absolute: where relative paths start. */
  cwd: string;
  /** For npm. Default: the process's. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Default `Date.now`. */
  now?: () => number;
  /** Aborted: nothing is installed, and the promise rejects with its reason. */
  signal?: AbortSignal;
}

/** What an installation came to. */
export interface Installation {
  package: InstalledPackage;
  /** Absolute paths of its extensions. */
  entries: readonly string[];
  /** What went by the same name before. */
  replaced?: InstalledPackage;
}

/**
 * Installs a package, or anew. What comes from npm or a tarball is copied, with what it depends on and without running
 * any script of it; a folder or module is used where it lies. It happens whole or not at all: what was installed before
 * stays until the new one is complete, and after every failure.
 * @throws BonsaiError `package_source_invalid`, `package_not_found`, `package_without_extensions`, `package_invalid`,
 *   `package_unknown`, `package_install_failed`, `npm_missing`, `registry_unreachable`, `registry_refused`, `disk_full`
 */
export async function installPackage(options: InstallPackageOptions): Promise<Installation> {
  options.signal?.throwIfAborted();
  const source = packageSource(options.source, options.cwd);
  return source.kind === "npm" || source.kind === "tarball"
    ? installCopy(source, options)
    : installLocal(source, options);
}

async function installCopy(
  source: NpmSource | TarballSource,
  options: InstallPackageOptions,
): Promise<Installation> {
  const { home, env = process.env, signal, now = Date.now } = options;
  const staging = openStagingFolder(home, now());
  try {
    const copied = await copyPackage(source, { folder: staging.path, env, signal });
    packageEntries(copied.folder, sourceText(source));
    const { name, version } = copied;
    const copy = staging.publish(versionsFolder(home, name), version ?? "0");
    return enter({ name, source: sourceText(source), version, copy }, options);
  } finally {
    staging.discard();
  }
}

function installLocal({ path }: LocalSource, options: InstallPackageOptions): Installation {
  packageEntries(path, path);
  const { name = path, version } = packageManifest(path);
  return enter({ name, source: path, version }, options);
}

interface NewRecord extends Pick<PackageRecord, "name" | "source" | "copy"> {
  version: string | undefined;
}

/** From here on it is installed. */
function enter(
  { version, ...given }: NewRecord,
  { home, now = Date.now }: InstallPackageOptions,
): Installation {
  const { records } = readRecords(home);
  const before = records.find(({ name }) => name === given.name);
  const addedAt = before?.addedAt ?? new Date(now()).toISOString();
  const record: PackageRecord = { ...given, ...(version === undefined ? {} : { version }), addedAt };
  try {
    writeRecord(home, record);
  } catch (error) {
    if (given.copy !== undefined) removeCopy(home, record);
    throw error;
  }
  const renamed = records.filter(({ name, source }) => source === given.source && name !== given.name);
  for (const old of renamed) removeInstalled(home, old, now());
  if (before !== undefined) removeCopy(home, before);
  const versions = versionsFolder(home, given.name);
  removeLeftovers(versions, (name) => name !== given.copy, now());
  if (given.copy === undefined) removeIfEmpty(versions);
  const installed = installedPackage(home, record);
  return {
    package: installed,
    entries: packageEntries(installed.folder, installed.source),
    ...(before === undefined ? {} : { replaced: installedPackage(home, before) }),
  };
}
