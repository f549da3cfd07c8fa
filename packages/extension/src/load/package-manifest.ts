import { readdirSync, readFileSync } from "node:fs";
import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { globMatcher } from "@bonsai-agent/agent/host";
import { z } from "zod";

const LISTS = ["extensions", "skills", "prompts", "themes"] as const;

export type ManifestList = (typeof LISTS)[number];

/** A path that was searched and cannot be loaded. */
export interface FindProblem {
  path: string;
  message: string;
  hint: string;
}

export interface ManifestPaths {
  /** Absolute. A path without a pattern need not exist. */
  paths: readonly string[];
  /** Absolute: excluded by a path or pattern that begins with `!`. */
  excluded: readonly string[];
  problems: readonly FindProblem[];
}

/**
 * Reads `bonsai.<list>`, else `pi.<list>` in a folder's package.json: paths or globs; `!` excludes. Undefined if it has no
 * such list, or does not exist.
 * @param isIgnored names that patterns do not match
 */
export function manifestPaths(
  folder: string,
  list: ManifestList,
  isIgnored: (name: string) => boolean,
): ManifestPaths | undefined {
  const patterns = readList(join(folder, "package.json"), list);
  if (patterns === undefined) return undefined;
  if ("hint" in patterns) return { paths: [], excluded: [], problems: [patterns] };
  const paths = new Set<string>();
  const excluded: string[] = [];
  const problems: FindProblem[] = [];
  const report = (message: string) =>
    problems.push({ path: join(folder, "package.json"), message, hint: `Fix its list of ${list}.` });
  for (const pattern of patterns) {
    if (pattern.startsWith("!")) excluded.push(...matches(folder, pattern.slice(1)));
    else if (isOutside(folder, pattern)) report(`It lists ${pattern}, which is outside its folder.`);
    else if (!/[*?[\]{}]/.test(pattern)) paths.add(resolve(folder, pattern));
    else {
      const found = matches(folder, pattern).filter((path) => !isIgnored(basename(path)));
      if (found.length === 0) report(`It lists ${pattern}, but no file matches.`);
      for (const path of found) paths.add(path);
    }
  }
  return { paths: [...paths], excluded, problems };
}

/** True for a package.json that lists anything of a package. */
export function namesAnything(folder: string): boolean {
  return LISTS.some((list) => Array.isArray(readList(join(folder, "package.json"), list)));
}

const lists = Object.fromEntries(
  LISTS.map((list) => {
    const one = z.object({ [list]: z.array(z.string()).optional() }).optional();
    return [list, z.object({ bonsai: one, pi: one })];
  }),
);

function readList(file: string, list: ManifestList): readonly string[] | FindProblem | undefined {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    return { path: file, message: `Cannot read it as JSON: ${message}.`, hint: "Fix or remove it." };
  }
  const { success, data, error } = lists[list]!.safeParse(json);
  if (success) return data.bonsai?.[list] ?? data.pi?.[list];
  const [issue] = error.issues;
  const place = issue?.path.join(".") || "the top level";
  const example = list === "extensions" ? "./index.ts" : `./${list}`;
  const hint = `Write {"bonsai": {"${list}": ["${example}"]}}.`;
  return { path: file, message: `It has an error at ${place}: ${issue?.message}.`, hint };
}

/** A package with more files must list them one by one. */
const MAX_ENTRIES = 10_000;

function matches(folder: string, pattern: string): string[] {
  const isWanted = globMatcher(`./${pattern.replace(/^(?:\.?\/)+/, "")}`);
  const maxDepth = /\*\*|\{/.test(pattern) ? Number.POSITIVE_INFINITY : pattern.split("/").length;
  return pathsBelow(folder, maxDepth)
    .filter(isWanted)
    .sort()
    .map((path) => resolve(folder, path));
}

/** Relative paths, with `/`. Skips dependencies and does not follow links. */
export function pathsBelow(folder: string, maxDepth: number = Number.POSITIVE_INFINITY): string[] {
  const paths: string[] = [];
  const open = [""];
  while (open.length > 0 && paths.length < MAX_ENTRIES) {
    const parent = open.pop()!;
    for (const entry of readdirSync(join(folder, parent), { withFileTypes: true })) {
      const path = parent === "" ? entry.name : `${parent}/${entry.name}`;
      paths.push(path);
      const isOwn = entry.isDirectory() && entry.name !== "node_modules" && entry.name !== ".git";
      if (isOwn && path.split("/").length < maxDepth) open.push(path);
    }
  }
  return paths;
}

function isOutside(folder: string, pattern: string): boolean {
  const way = relative(folder, resolve(folder, pattern));
  return isAbsolute(way) || /^\.\.([\\/]|$)/.test(way);
}
