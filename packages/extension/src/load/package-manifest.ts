import { readdirSync, readFileSync } from "node:fs";
import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { globMatcher } from "@bonsai-agent/agent/host";
import { z } from "zod";

/** What the package.json of a package can name. */
export type ManifestList = "extensions" | "skills" | "prompts" | "themes";

/** What a list of a package.json comes to. */
export interface ManifestPaths {
  /** Absolute; a path that holds no pattern need not exist. */
  paths: readonly string[];
  /** Absolute: taken away again by a path or pattern that begins with `!`. */
  excluded: readonly string[];
  problems: readonly FindProblem[];
}

const paths = z.array(z.string()).optional();
const listsSchema = z.object({ extensions: paths, skills: paths, prompts: paths, themes: paths });
const manifestSchema = z.object({ bonsai: listsSchema.optional(), pi: listsSchema.optional() });

/**
 * What the package.json of a folder names by `bonsai.<list>`, else by `pi.<list>`: paths or globs; one that begins with
 * `!` takes away. Undefined where it says nothing of that, or there is none.
 * @param isPassedOver what a pattern does not match, though it fits
 */
export function manifestPaths(
  folder: string,
  list: ManifestList,
  isPassedOver: (name: string) => boolean,
): ManifestPaths | undefined {
  const manifest = readManifest(join(folder, "package.json"), list);
  if (manifest === undefined) return undefined;
  if ("hint" in manifest) return { paths: [], excluded: [], problems: [manifest] };
  const patterns = manifest.bonsai?.[list] ?? manifest.pi?.[list];
  if (patterns === undefined) return undefined;
  const isExclusion = (pattern: string) => pattern.startsWith("!");
  const named = patterns
    .filter((pattern) => !isExclusion(pattern))
    .map((pattern) => namedPaths({ folder, list, pattern, isPassedOver }));
  return {
    paths: [...new Set(named.flatMap(({ paths }) => paths))],
    excluded: patterns.filter(isExclusion).flatMap((pattern) => matches(folder, pattern.slice(1))),
    problems: named.flatMap(({ problem }) => problem ?? []),
  };
}

/** True for a package.json that names what the package brings, of whatever kind. */
export function namesAnything(folder: string): boolean {
  const lists = ["extensions", "skills", "prompts", "themes"] as const;
  const manifest = readManifest(join(folder, "package.json"), "extensions");
  if (manifest === undefined || "hint" in manifest) return false;
  return lists.some((list) => (manifest.bonsai?.[list] ?? manifest.pi?.[list]) !== undefined);
}

interface NamedPattern {
  folder: string;
  list: ManifestList;
  pattern: string;
  isPassedOver: (name: string) => boolean;
}

function namedPaths({ folder, list, pattern, isPassedOver }: NamedPattern): {
  paths: readonly string[];
  problem?: FindProblem;
} {
  const wrong = (message: string) => ({
    paths: [],
    problem: { path: join(folder, "package.json"), message, hint: `Fix its list of ${list}.` },
  });
  if (isOutside(folder, pattern)) return wrong(`It lists ${pattern}, which is outside its folder.`);
  if (!/[*?[\]{}]/.test(pattern)) return { paths: [resolve(folder, pattern)] };
  const found = matches(folder, pattern).filter((path) => !isPassedOver(basename(path)));
  return found.length === 0 ? wrong(`It lists ${pattern}, but no file matches.`) : { paths: found };
}

/** A package of more files names what it brings one by one. */
const MOST_ENTRIES = 10_000;

function matches(folder: string, pattern: string): string[] {
  const isWanted = globMatcher(`./${pattern.replace(/^(?:\.?\/)+/, "")}`);
  const deepest = /\*\*|\{/.test(pattern) ? Number.POSITIVE_INFINITY : pattern.split("/").length;
  return pathsBelow(folder, deepest)
    .filter(isWanted)
    .sort()
    .map((path) => resolve(folder, path));
}

/** Relative, with `/`. What a package needs of others is not its own; links are not followed. */
export function pathsBelow(folder: string, deepest: number = Number.POSITIVE_INFINITY): string[] {
  const paths: string[] = [];
  const open = [""];
  while (open.length > 0 && paths.length < MOST_ENTRIES) {
    const way = open.pop()!;
    for (const entry of readdirSync(join(folder, way), { withFileTypes: true })) {
      const path = way === "" ? entry.name : `${way}/${entry.name}`;
      paths.push(path);
      const isOwn = entry.isDirectory() && entry.name !== "node_modules" && entry.name !== ".git";
      if (isOwn && path.split("/").length < deepest) open.push(path);
    }
  }
  return paths;
}

function isOutside(folder: string, pattern: string): boolean {
  const way = relative(folder, resolve(folder, pattern));
  return isAbsolute(way) || /^\.\.([\\/]|$)/.test(way);
}

function readManifest(
  file: string,
  list: ManifestList,
): z.infer<typeof manifestSchema> | FindProblem | undefined {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    return { path: file, message: `Cannot read it as JSON: ${message}.`, hint: "Fix or remove it." };
  }
  const manifest = manifestSchema.safeParse(json);
  if (manifest.success) return manifest.data;
  const issue = manifest.error.issues.find(({ path }) => path.length < 2 || path[1] === list);
  // Wrong in what it says of something else, which is named where that is looked for.
  if (issue === undefined) return manifestOf(json, list);
  const place = issue.path.join(".") || "the top level";
  const example = list === "extensions" ? "./index.ts" : `./${list}`;
  const hint = `Write {"bonsai": {"${list}": ["${example}"]}}.`;
  return { path: file, message: `It has an error at ${place}: ${issue.message}.`, hint };
}

/** Without the other lists. */
function manifestOf(json: unknown, list: ManifestList): z.infer<typeof manifestSchema> {
  const { bonsai, pi } = json as Record<"bonsai" | "pi", Record<string, unknown> | undefined>;
  return manifestSchema.parse({ bonsai: bonsai && { [list]: bonsai[list] }, pi: pi && { [list]: pi[list] } });
}

/** What was looked for and cannot be loaded. */
export interface FindProblem {
  path: string;
  message: string;
  hint: string;
}
