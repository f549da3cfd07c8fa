import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { isTorn, npmFailure, type RunNpmOptions, runNpm } from "./npm.ts";
import {
  type InstalledPackage,
  installedPackage,
  type PackageRecord,
  packagesFolder,
  readRecords,
  versionsFolder,
  writeRecord,
} from "./package-records.ts";
import {
  type LocalSource,
  type NpmSource,
  type PackageManifest,
  packageEntries,
  packageManifest,
  packageSource,
  sourceText,
  type TarballSource,
} from "./package-source.ts";
import { removeCopy, removeIfEmpty, removeInstalled, removeLeftovers } from "./remove-package.ts";

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
    const { folder, name, version } = await copyPackage(source, { folder: staging, env, signal });
    packageEntries(folder, sourceText(source));
    const copy = publish(staging, versionsFolder(home, name), version ?? "0");
    return enter({ name, source: sourceText(source), version, copy }, options);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function installLocal({ path }: LocalSource, options: InstallPackageOptions): Installation {
  packageEntries(path, path);
  const { name = path, version } = packageManifest(path);
  return enter({ name, source: path, version }, options);
}

/** From here on it is installed. */
function enter(
  { version, ...given }: Pick<PackageRecord, "name" | "source" | "copy"> & { version: string | undefined },
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

/** What npm calls a tarball whose own name is not known yet. */
const unnamed = "bonsai-tarball";

interface CopiedPackage extends PackageManifest {
  name: string;
  /** Absolute; not below a `node_modules`. */
  folder: string;
}

/**
 * Fetches a package and what it depends on into a staging folder. Node strips no types below a `node_modules`, so the
 * package itself stands beside it, where it finds its dependencies as before:
 *
 *     package/        its files, and what npm nested in it
 *     node_modules/   what it depends on, and a link back to it
 *
 * @throws BonsaiError for each way in which npm can fail
 */
async function copyPackage(
  source: NpmSource | TarballSource,
  { folder, env, signal }: RunNpmOptions,
): Promise<CopiedPackage> {
  const [key, spec] =
    source.kind === "npm" ? [source.name, source.version ?? "latest"] : [unnamed, `file:${source.path}`];
  const wanted = { private: true, dependencies: { [key]: spec } };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(wanted, null, 2)}\n`);
  const end = await runNpm({ folder, env, signal });
  const installed = join(folder, "node_modules", key);
  if (end.exitCode !== 0 || isTorn(end) || !existsSync(installed)) throw npmFailure(sourceText(source), end);
  const place = join(folder, "package");
  renameSync(installed, place);
  const { name = source.kind === "npm" ? source.name : undefined, version } = packageManifest(place);
  if (name === undefined) throw nameless(source);
  for (const link of new Set([name, key])) linkBack(join(folder, "node_modules", link), place);
  return { name, folder: place, ...(version === undefined ? {} : { version }) };
}

/** For its programs in `.bin`, and for dependencies that in turn import the package. */
function linkBack(link: string, place: string): void {
  // There, links want rights that few have.
  if (process.platform === "win32") return;
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), place), link);
}

function nameless(source: NpmSource | TarballSource): BonsaiError {
  return new BonsaiError({
    code: "package_invalid",
    message: `The package.json of ${sourceText(source)} has no name that npm allows.`,
    hint: "Give it a name, or unpack it and install its folder.",
  });
}

const prefix = ".staging-";

/** A folder of its own in which a package is made ready. */
function openStagingFolder(home: string, nowMs: number): string {
  const packages = packagesFolder(home);
  mkdirSync(packages, { recursive: true, mode: 0o700 });
  removeLeftovers(packages, (name) => name.startsWith(prefix), nowMs);
  return mkdtempSync(join(packages, prefix));
}

/**
 * Gives a staging folder its place among the versions of its package. No two installations ever get the same name, not
 * even one after the other: whoever takes an old copy away, late, can mean no other.
 * @returns its name there
 */
function publish(path: string, versions: string, version: string): string {
  mkdirSync(versions, { recursive: true, mode: 0o700 });
  const name = `${version}-${randomBytes(4).toString("hex")}`;
  renameSync(path, join(versions, name));
  return name;
}
