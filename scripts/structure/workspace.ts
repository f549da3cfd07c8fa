import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

export interface Package {
  /** The name of its folder in packages/ or extensions/. */
  directory: string;
  name: string;
  private: boolean;
  folder: string;
  manifest: Manifest;
}

export interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, string | Record<string, string>>;
}

export function readPackages(root: string): Package[] {
  return packagesBelow(join(root, "packages"));
}

/** The first-party extensions. */
export function readExtensions(root: string): Package[] {
  return packagesBelow(join(root, "extensions"));
}

function packagesBelow(parent: string): Package[] {
  if (!existsSync(parent)) return [];
  return readdirSync(parent)
    .filter((directory) => existsSync(join(parent, directory, "package.json")))
    .map((directory) => {
      const folder = join(parent, directory);
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
      return { directory, name: manifest.name, private: manifest.private === true, folder, manifest };
    });
}

/**
 * Sorted absolute paths of the files in a folder and its subfolders that have one of these endings. It does not enter
 * node_modules: Node's own recursive listing follows the links of a workspace to all packages, which takes 30 seconds.
 */
export function filesBelow(folder: string, endings: readonly string[]): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules")
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(path, endings);
      return entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)) ? [path] : [];
    })
    .sort();
}

export function shown(root: string, path: string): string {
  return relative(root, path);
}
