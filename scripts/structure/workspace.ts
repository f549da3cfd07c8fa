import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The findings of one check. Errors fail the run, warnings do not. */
export interface Findings {
  errors: string[];
  warnings: string[];
}

export interface Package {
  /** The name of its folder in packages/ or extensions/. */
  directory: string;
  name: string;
  private: boolean;
  folder: string;
  /** Absolute paths of its source folder and those of the private packages bundled into it. */
  sources: string[];
  manifest: Manifest;
}

export interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, string | Record<string, string>>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
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
  const packages = readdirSync(parent)
    .filter((directory) => existsSync(join(parent, directory, "package.json")))
    .map((directory) => {
      const folder = join(parent, directory);
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
      return { directory, name: manifest.name, private: manifest.private === true, folder, manifest };
    });
  return packages.map((pkg) => {
    const isBundled = (other: (typeof packages)[number]) =>
      other.private && pkg.manifest.devDependencies?.[other.name] !== undefined;
    const sources = [pkg, ...packages.filter(isBundled)].map(({ folder }) => join(folder, "src"));
    return { ...pkg, sources };
  });
}

/** Sorted absolute paths of the files in a folder and its subfolders that have one of these endings. */
export function filesBelow(folder: string, endings: readonly string[]): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && endings.some((ending) => file.name.endsWith(ending)))
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => !path.includes("node_modules"))
    .sort();
}

/** The modules that a source text imports or re-exports. */
export function importsOf(source: string): string[] {
  const pattern = /(?:^|[\s;}([,])(?:from|import)\s*\(?\s*["']([^"']+)["']/g;
  return [...source.matchAll(pattern)].map((match) => match[1]!);
}

/** The modules that a source text imports statically. */
export function staticImportsOf(source: string): string[] {
  return [...source.matchAll(/(?:^|[\s;}])(?:from|import)\s*["']([^"']+)["']/g)].map((match) => match[1]!);
}

export function shown(root: string, path: string): string {
  return relative(root, path);
}
