import { statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import {
  type FindProblem,
  type ManifestList,
  manifestPaths,
  namesAnything,
  pathsBelow,
} from "./package-manifest.ts";

/** A kind of resource files in a package. */
export type PackageResource = Exclude<ManifestList, "extensions">;

const packageResourceKinds: readonly PackageResource[] = ["skills", "prompts", "themes"];

/** The resources of a package. */
export interface PackageResources {
  /** Existing files and folders, absolute. */
  paths: readonly string[];
  problems: readonly FindProblem[];
}

/**
 * Finds the skills, prompts or themes of a package: the listed ones; if the package.json lists nothing at all, the
 * folder of that name.
 */
export function packageResources(folder: string, kind: PackageResource): PackageResources {
  // A single module.
  if (!isThere(folder)?.isDirectory()) return { paths: [], problems: [] };
  const named = manifestPaths(folder, kind, (name) => name.startsWith("."));
  if (named === undefined)
    return { paths: namesAnything(folder) ? [] : conventional(folder, kind), problems: [] };
  const missing = named.paths.filter((path) => isThere(path) === undefined);
  const paths = named.paths.filter((path) => !missing.includes(path));
  return {
    paths: named.excluded.length === 0 ? paths : paths.flatMap((path) => without(named.excluded, path, kind)),
    problems: [
      ...named.problems,
      ...missing.map((path) => ({
        path,
        message: "It does not exist.",
        hint: `Fix the list of ${kind} in ${join(folder, "package.json")}.`,
      })),
    ],
  };
}

/** All resources of a package. */
export function allPackageResources(folder: string): PackageResources {
  const found = packageResourceKinds.map((kind) => packageResources(folder, kind));
  return {
    paths: found.flatMap(({ paths }) => paths),
    problems: found.flatMap(({ problems }) => problems),
  };
}

function conventional(folder: string, kind: PackageResource): string[] {
  const path = join(folder, kind);
  return isThere(path) === undefined ? [] : [path];
}

/** Replaces a folder with excluded files by its other files. */
function without(excluded: readonly string[], path: string, kind: PackageResource): string[] {
  const isExcluded = (each: string) =>
    excluded.some((gone) => each === gone || each.startsWith(`${gone}${sep}`));
  if (isExcluded(path)) return [];
  if (!isThere(path)?.isDirectory() || !excluded.some((gone) => gone.startsWith(`${path}${sep}`)))
    return [path];
  return pathsBelow(path)
    .map((name) => join(path, name))
    .filter((file) => isResource(kind, relative(path, file)) && !isExcluded(file))
    .sort();
}

function isResource(kind: PackageResource, path: string): boolean {
  if (kind === "themes") return path.endsWith(".json");
  if (kind === "prompts") return path.endsWith(".md");
  return basename(path) === "SKILL.md" || (path.endsWith(".md") && !path.includes(sep));
}

function isThere(path: string) {
  return statSync(path, { throwIfNoEntry: false });
}
