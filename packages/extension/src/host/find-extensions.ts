import { realpathSync } from "node:fs";
import { join } from "node:path";
import { type Entries, entriesAt, entriesIn, packageExtensions } from "../load/extension-entries.ts";
import type { FindProblem } from "../load/package-manifest.ts";

export interface FindExtensionsOptions {
  /** Bonsai's home folder: `<home>/extensions`. */
  home: string;
  /** The user's installed packages, in load order. Default: none. */
  packages?: { packages: readonly PackagePlace[]; problems: readonly FindProblem[] };
  /** The base of relative flag paths and of the project's `.bonsai/extensions`. */
  cwd: string;
  /** False skips the project's extensions. */
  isProjectTrusted: boolean;
  /** `settings.extensions`, absolute or `~/…`. */
  settingsPaths?: readonly string[];
  /** `-e`, in the order of the command line. */
  flagPaths?: readonly string[];
  /** Only the extensions of flags. Default false. */
  onlyFlags?: boolean;
}

interface PackagePlace {
  /** The npm name, or a path. */
  name: string;
  /** Absolute: the folder with its files, or the module itself. */
  folder: string;
}

export type ExtensionOrigin = "flag" | "settings" | "user" | "project" | "package";

/** A module to load. */
export interface FoundExtension {
  /** Absolute path of the entry module. */
  path: string;
  origin: ExtensionOrigin;
  /** Its npm package. */
  packageName?: string;
}

export interface FoundExtensions {
  /** In load order, each module once. */
  extensions: readonly FoundExtension[];
  problems: readonly FindProblem[];
}

/**
 * Finds extensions, in load order: packages, user, project, settings, flags; by name within a folder. A module that is
 * found twice loads at its last position.
 */
export function findExtensions(options: FindExtensionsOptions): FoundExtensions {
  const { home, cwd, isProjectTrusted, settingsPaths = [], flagPaths = [], onlyFlags = false } = options;
  const named = (origin: ExtensionOrigin, paths: readonly string[]) =>
    paths.map((path) => from(origin, entriesAt(path, cwd)));
  const found = [
    ...(onlyFlags
      ? []
      : [
          ...inPackages(options.packages),
          from("user", entriesIn(join(home, "extensions"))),
          ...(isProjectTrusted ? [from("project", entriesIn(join(cwd, ".bonsai", "extensions")))] : []),
          ...named("settings", settingsPaths),
        ]),
    ...named("flag", flagPaths),
  ];
  return {
    extensions: eachOnce(found.flatMap(({ extensions }) => extensions)),
    problems: found.flatMap(({ problems }) => problems),
  };
}

function inPackages(installed: FindExtensionsOptions["packages"]): FoundExtensions[] {
  if (installed === undefined) return [];
  return [
    { extensions: [], problems: installed.problems },
    ...installed.packages.map(({ name, folder }) => from("package", packageExtensions(folder), name)),
  ];
}

function from(
  origin: ExtensionOrigin,
  { entries, problems }: Entries,
  packageName?: string,
): FoundExtensions {
  return { extensions: entries.map((path) => ({ path, origin, packageName })), problems };
}

function eachOnce(found: readonly FoundExtension[]): FoundExtension[] {
  const last = new Map<string, FoundExtension>();
  for (const extension of found) {
    const file = realpathSync(extension.path);
    last.delete(file);
    last.set(file, extension);
  }
  return [...last.values()];
}
