import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { findFirstParty } from "../call/first-party.ts";
import {
  copyFolder,
  deleteRecord,
  type InstalledPackage,
  installedPackage,
  type PackageRecord,
  packagesFolder,
  readRecords,
  writeRecord,
} from "../call/installed-packages.ts";
import { type RunNpmOptions, runNpm } from "./npm.ts";
import {
  type NpmSource,
  packageEntries,
  packageManifest,
  packageSource,
  sourceText,
} from "./package-source.ts";

export interface InstallPackageOptions {
  home: string;
  /** `npm:NAME[@VERSION]`, a bundled extension, or the path of a folder or a module. */
  source: string;
  cwd: string;
  /** For npm. Default: the process's. */
  env?: RunNpmOptions["env"];
  /** Default `Date.now`. */
  now?: () => number;
  /** An abort installs nothing and rejects with its reason. */
  signal?: AbortSignal;
}

export interface Installation {
  package: InstalledPackage;
  /** Absolute paths of its extensions. */
  entries: readonly string[];
  /** The package of the same name before, if there was one. */
  replaced?: InstalledPackage;
}

/**
 * Installs a package, or replaces it. npm fetches a package with its dependencies and runs none of their scripts; a
 * folder or module stays in its place. The package before stays until the new one is complete, and after every failure.
 * @throws BonsaiError `package_source_invalid`, `package_not_found`, `package_without_extensions`, `package_unknown`,
 *   `package_install_failed`, `npm_missing`
 */
export async function installPackage(options: InstallPackageOptions): Promise<Installation> {
  const { home, cwd, signal } = options;
  signal?.throwIfAborted();
  const source = packageSource(options.source, cwd);
  if (source.kind === "npm") return installFromNpm(source, options);
  const { path } = source;
  packageEntries(path, path);
  const { name = path, version } = packageManifest(path);
  const installation = record(
    { name, source: sourceText(source), ...(source.kind !== "shipped" && { version }) },
    options,
  );
  rmSync(copyFolder(home, name), { recursive: true, force: true });
  return installation;
}

async function installFromNpm(source: NpmSource, options: InstallPackageOptions): Promise<Installation> {
  const { home, env = process.env, signal } = options;
  const { name } = source;
  const staging = openStagingFolder(home);
  try {
    await fetchPackage(source, { folder: staging, env, signal });
    const place = join(staging, "package");
    packageEntries(place, sourceText(source));
    const { version } = packageManifest(place);
    replaceFolder(copyFolder(home, name), staging);
    return record({ name, source: sourceText(source), version }, options);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function record(
  given: Omit<PackageRecord, "addedAt">,
  { home, now = Date.now }: InstallPackageOptions,
): Installation {
  const { records } = readRecords(home);
  const before = records.find(({ name }) => name === given.name);
  const added = { ...given, addedAt: before?.addedAt ?? new Date(now()).toISOString() };
  writeRecord(home, added);
  for (const { name, source } of records)
    if (source === given.source && name !== given.name) deletePackage(home, name);
  const installed = installedPackage(home, added);
  return {
    package: installed,
    entries: packageEntries(installed.folder, installed.source),
    replaced: before && installedPackage(home, before),
  };
}

/** Installs one version of an npm package that is no extension into a folder, whole or not at all. @throws as `runNpm` */
export async function installDependency(
  { name, version }: { name: string; version: string },
  { home, ...npm }: { home: string } & RunNpmOptions,
): Promise<void> {
  const staging = openStagingFolder(home);
  try {
    await fetchDependency({ name, version }, { ...npm, folder: staging });
    replaceFolder(npm.folder, staging);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function fetchDependency(
  { name, version }: Pick<NpmSource, "name" | "version">,
  npm: RunNpmOptions,
): Promise<void> {
  const wanted = { private: true, dependencies: { [name]: version ?? "latest" } };
  writeFileSync(join(npm.folder, "package.json"), `${JSON.stringify(wanted, null, 2)}\n`);
  await runNpm(`npm:${name}${version === undefined ? "" : `@${version}`}`, npm);
}

/**
 * Fetches a package and its dependencies. Node strips no types below a `node_modules`, so the package moves beside it,
 * where it still finds its dependencies:
 *
 *     package/        its files, and the packages that npm nested in it
 *     node_modules/   its dependencies, and a link back to it
 */
async function fetchPackage(source: NpmSource, npm: RunNpmOptions): Promise<void> {
  const { folder } = npm;
  await fetchDependency(source, npm);
  const installed = join(folder, "node_modules", source.name);
  renameSync(installed, join(folder, "package"));
  // Its programs in `.bin` and dependencies that import it need the link. On Windows, links need rights that few users have.
  if (process.platform !== "win32")
    symlinkSync(relative(dirname(installed), join(folder, "package")), installed);
}

const STAGING = ".staging-";
/** An older staging folder belongs to a killed installation: none takes so long. */
const LEFTOVER_AGE_MS = 86_400_000;

/** Makes a folder for one installation. Deletes those of killed ones. */
function openStagingFolder(home: string): string {
  const packages = packagesFolder(home);
  mkdirSync(packages, { recursive: true, mode: 0o700 });
  for (const path of readdirSync(packages).map((name) => join(packages, name)))
    if (path.startsWith(join(packages, STAGING)) && Date.now() - statSync(path).mtimeMs > LEFTOVER_AGE_MS)
      rmSync(path, { recursive: true, force: true });
  return mkdtempSync(join(packages, STAGING));
}

/** Moves a folder into the place of another one, whole or not at all. */
function replaceFolder(folder: string, by: string): void {
  const old = `${by}-old`;
  if (existsSync(folder)) renameSync(folder, old);
  try {
    renameSync(by, folder);
  } catch (error) {
    if (existsSync(old)) renameSync(old, folder);
    throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

interface RemovePackageOptions {
  home: string;
  /** The name, with or without `npm:`, or the path that was installed. */
  package: string;
  cwd: string;
}

/** Removes a package. Folders and modules of the user stay. @throws BonsaiError `package_not_installed` */
export function removePackage(options: RemovePackageOptions): InstalledPackage {
  const removed = findInstalled(options);
  deletePackage(options.home, removed.name);
  return removed;
}

/** The record goes first, so that no session loads half a package. */
function deletePackage(home: string, name: string): void {
  deleteRecord(home, name);
  rmSync(copyFolder(home, name), { recursive: true, force: true });
}

/** @throws BonsaiError `package_not_installed` */
export function findInstalled({ home, package: wanted, cwd }: RemovePackageOptions): InstalledPackage {
  const { records } = readRecords(home);
  const path = resolve(cwd, wanted);
  const name = wanted.replace(/^npm:/, "").replace(/(?<=.)@.*$/, "");
  const found =
    records.find((record) => record.name === wanted || record.name === name) ??
    records.find((record) => record.source === path) ??
    records.find((record) => record.name === findFirstParty(name)?.package);
  if (found !== undefined) return installedPackage(home, found);
  const names = records.map((record) => record.name);
  throw new BonsaiError({
    code: "package_not_installed",
    message: `The package ${JSON.stringify(wanted)} is not installed.`,
    hint: names.length === 0 ? "No packages are installed." : `Installed packages: ${names.join(", ")}.`,
  });
}
