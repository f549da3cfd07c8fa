import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { findFirstParty } from "../call/first-party.ts";
import {
  deleteRecord,
  type InstalledPackage,
  installedPackage,
  type PackageRecord,
  packagesFolder,
  readRecords,
  versionsFolder,
  writeRecord,
} from "../call/installed-packages.ts";
import { isTorn, npmFailure, type RunNpmOptions, runNpm } from "./npm.ts";
import {
  type LocalSource,
  type NpmSource,
  type PackageManifest,
  packageEntries,
  packageManifest,
  packageSource,
  type ShippedSource,
  sourceText,
  type TarballSource,
} from "./package-source.ts";

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

/** The result of an installation. */
export interface Installation {
  package: InstalledPackage;
  /** Absolute paths of its extensions. */
  entries: readonly string[];
  /** The package of the same name before, if there was one. */
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

function installLocal(source: LocalSource | ShippedSource, options: InstallPackageOptions): Installation {
  const { path } = source;
  packageEntries(path, path);
  const { name = path, version } = packageManifest(path);
  const own = source.kind === "shipped" ? {} : { version };
  return enter({ name, source: sourceText(source), ...own }, options);
}

/** From here on it is installed. */
function enter(
  given: Omit<PackageRecord, "addedAt">,
  { home, now = Date.now }: InstallPackageOptions,
): Installation {
  const { records } = readRecords(home);
  const before = records.find(({ name }) => name === given.name);
  const addedAt = before?.addedAt ?? new Date(now()).toISOString();
  const record: PackageRecord = { ...given, addedAt };
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
    replaced: before && installedPackage(home, before),
  };
}

/** The name that a tarball gets in npm's folder until its own is known. */
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
  return { name, folder: place, version };
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
    message: `The package.json of ${sourceText(source)} has no valid npm name.`,
    hint: "Add a name to its package.json, or unpack it and install the folder.",
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

export interface RemovePackageOptions {
  /** Bonsai's home folder. */
  home: string;
  /** The name, with or without `npm:`, or the path that was installed. */
  package: string;
  /** Absolute: where relative paths start. */
  cwd: string;
  /** Default `Date.now`. */
  now?: () => number;
}

/**
 * Removes a package, and its copy where it has one. Folders and modules that are used where they lie stay there.
 * @throws BonsaiError `package_not_installed`
 */
export function removePackage(options: RemovePackageOptions): InstalledPackage {
  const { home, now = Date.now } = options;
  const record = installedRecord(options);
  removeInstalled(home, record, now());
  return installedPackage(home, record);
}

/** The installed package that a name or a path means. @throws BonsaiError `package_not_installed` */
export function packageMeant(options: Omit<RemovePackageOptions, "now">): InstalledPackage {
  return installedPackage(options.home, installedRecord(options));
}

function installedRecord(options: Omit<RemovePackageOptions, "now">): PackageRecord {
  const { records } = readRecords(options.home);
  const record = recordMeant(records, options);
  if (record === undefined) throw notInstalled(options.package, records);
  return record;
}

function recordMeant(
  records: readonly PackageRecord[],
  { package: asked, cwd }: RemovePackageOptions,
): PackageRecord | undefined {
  const path = resolve(cwd, asked);
  const name = asked.replace(/^npm:/, "").replace(/(?<=.)@.*$/, "");
  return (
    records.find((record) => record.name === asked || record.name === name) ??
    records.find((record) => record.source === path) ??
    records.find((record) => record.name === findFirstParty(name)?.package)
  );
}

/** The record goes first: nobody loads what is half gone. */
function removeInstalled(home: string, record: PackageRecord, nowMs: number): void {
  deleteRecord(home, record.name);
  removeCopy(home, record);
  const versions = versionsFolder(home, record.name);
  removeLeftovers(versions, () => true, nowMs);
  removeIfEmpty(versions);
}

/** The files that a record speaks of. What another installation is about to record stays. */
function removeCopy(home: string, { name, copy }: PackageRecord): void {
  if (copy === undefined) return;
  rmSync(join(versionsFolder(home, name), copy), { recursive: true, force: true });
}

function notInstalled(asked: string, records: readonly PackageRecord[]): BonsaiError {
  const names = records.map(({ name }) => name);
  return new BonsaiError({
    code: "package_not_installed",
    message: `The package ${JSON.stringify(asked)} is not installed.`,
    hint: names.length === 0 ? "No packages are installed." : `Installed packages: ${names.join(", ")}.`,
  });
}

/** No installation takes as long: what is older was left by one that was killed. */
const leftoverAgeMs = 86_400_000;

/** Takes away what killed installations left in a folder; what is young can be another one's that is at work. */
function removeLeftovers(folder: string, isSuspect: (name: string) => boolean, nowMs: number): void {
  for (const name of namesIn(folder).filter(isSuspect)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: nowMs };
    if (nowMs - mtimeMs > leftoverAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
