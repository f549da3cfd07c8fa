import { SHIPPED_PREFIX } from "../call/first-party.ts";
import { type InstalledPackage, installedPackages } from "../call/installed-packages.ts";
import { type InstallPackageOptions, installPackage, packageMeant } from "./install-package.ts";

export interface UpdatePackagesOptions extends Omit<InstallPackageOptions, "source"> {
  /** Names, with or without `npm:`, or paths that were installed. Default: all packages. */
  packages?: readonly string[];
  /** Told before each package that npm is asked about. */
  onPackage?: (installed: InstalledPackage) => void;
}

/** The result of an update for one package. */
export interface PackageUpdate {
  /** As it was before. */
  before: InstalledPackage;
  /** As it is now. */
  after: InstalledPackage;
  /**
   * `current`: npm has none that is newer and is what was asked for. `pinned`: one version was asked for, by its number. `local`:
   * it is used where it lies, or came from a tarball, so npm knows nothing newer. `shipped`: it is updated with the
   * command. `failed`: it is as before.
   */
  status: "updated" | "current" | "pinned" | "local" | "shipped" | "failed";
  /** Absolute paths of its extensions. Absent if no new version was installed. */
  entries?: readonly string[];
  /** Why it failed. */
  error?: unknown;
}

/**
 * Installs packages of npm anew, one after the other: each as the newest version of what was asked for when it was installed.
 * A failed package stays as it was, and the others are still updated.
 * @throws BonsaiError `package_not_installed`, before anything is changed; the signal's reason after an abort: what was
 *   updated until then stays so
 */
export async function updatePackages(options: UpdatePackagesOptions): Promise<PackageUpdate[]> {
  const { home, cwd, packages, onPackage } = options;
  const meant = packages?.map((name) => packageMeant({ home, cwd, package: name }));
  const updates: PackageUpdate[] = [];
  for (const before of new Set(meant ?? installedPackages(home).packages)) {
    const kept = keptStatus(before);
    if (kept === undefined) {
      onPackage?.(before);
      updates.push(await updated(before, options));
    } else updates.push({ before, after: before, status: kept });
  }
  return updates;
}

/** Why a package stays as it is, whatever npm has. */
function keptStatus({ source }: InstalledPackage): "pinned" | "local" | "shipped" | undefined {
  if (source.startsWith(SHIPPED_PREFIX)) return "shipped";
  if (!source.startsWith("npm:")) return "local";
  return /.@v?\d+\.\d+\.\d+[\w.+-]*$/.test(source) ? "pinned" : undefined;
}

async function updated(before: InstalledPackage, options: UpdatePackagesOptions): Promise<PackageUpdate> {
  try {
    const { package: after, entries } = await installPackage({ ...options, source: before.source });
    return { before, after, entries, status: after.version === before.version ? "current" : "updated" };
  } catch (error) {
    options.signal?.throwIfAborted();
    return { before, after: before, status: "failed", error };
  }
}
