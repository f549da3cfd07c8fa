import { readdirSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type FindProblem, manifestPaths } from "./package-manifest.ts";

const indexNames = ["index.ts", "index.mts", "index.js", "index.mjs"];

/** The extensions of a folder that is searched: its modules, and its folders that are one. It need not exist. */
export function entriesIn(folder: string): Entries {
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return noEntries;
    return unreadable(folder, error, "It must be a readable folder.");
  }
  return joined(
    names.filter((name) => !isPassedOver(name)).map((name) => searched(join(folder, name), name)),
  );
}

/** The extensions at a path that somebody named: a module, or a folder with one or several. */
export function entriesAt(path: string, cwd: string): Entries {
  if (path.startsWith("npm:")) {
    const hint = `Run \`bonsai extension add ${path}\` once. Bonsai then loads it every time.`;
    return problem(path, "It is a package, not a path.", hint);
  }
  const absolute = resolve(cwd, path.replace(/^~(?=$|[\\/])/, homedir()));
  return entriesBy(absolute, "Fix the path, or remove it.", (stats) => {
    if (!stats.isDirectory()) return entry(absolute);
    const found = folderEntries(absolute) ?? entriesIn(absolute);
    return isEmpty(found) ? withoutExtension(absolute) : found;
  });
}

/** The extensions of a package: what its package.json names, else what stands in its folder `extensions`. */
export function packageExtensions(folder: string): Entries {
  return entriesBy(
    folder,
    "Install the package again, or remove it with `bonsai extension remove`.",
    (stats) => {
      if (!stats.isDirectory()) return entry(folder);
      return manifestEntries(folder) ?? entriesIn(join(folder, "extensions"));
    },
  );
}

/** What a folder is by itself: what its package.json names, else its index; undefined where it has neither. */
function folderEntries(folder: string): Entries | undefined {
  return manifestEntries(folder) ?? indexEntry(folder);
}

/** The entries of a path in a package.json. */
function namedEntries(path: string): Entries {
  return entriesBy(path, "Fix that path in the package.json.", (stats) =>
    stats.isDirectory() ? (indexEntry(path) ?? entriesIn(path)) : entry(path),
  );
}

function indexEntry(folder: string): Entries | undefined {
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  const index = indexNames.map((name) => join(folder, name)).find(isFile);
  return index === undefined ? undefined : entry(index);
}

function searched(path: string, name: string): Entries {
  return entriesBy(path, "Remove it, or fix the link.", (stats) => {
    if (!stats.isDirectory()) return isModuleName(name) ? entry(path) : noEntries;
    return folderEntries(path) ?? (looksMeant(path) ? withoutExtension(path) : noEntries);
  });
}

/** A folder of pictures or notes beside extensions is nobody's mistake. */
function looksMeant(folder: string): boolean {
  const names = readdirSync(folder);
  return names.length === 0 || names.some((name) => isModuleName(name) || name === "package.json");
}

function isEmpty({ entries, problems }: Entries): boolean {
  return entries.length + problems.length === 0;
}

function withoutExtension(folder: string): Entries {
  const hint =
    'Add an index.ts, or a package.json with {"bonsai": {"extensions": ["./file.ts"]}}. To skip a folder of shared code, start its name with _.';
  return problem(folder, "It contains no extension.", hint);
}

/**
 * What the package.json of a folder names as extensions. Undefined where it says nothing of extensions, or there is none.
 */
function manifestEntries(folder: string): Entries | undefined {
  const named = manifestPaths(folder, "extensions", isPassedOver);
  if (named === undefined) return undefined;
  const { entries, problems } = joined(named.paths.map(namedEntries));
  return {
    entries: [...new Set(entries)].filter((path) => !named.excluded.includes(path)),
    problems: [...named.problems, ...problems],
  };
}

/** A module that can be an extension. */
export function isModuleName(name: string): boolean {
  return /\.m?[jt]s$/.test(name);
}

/** Hidden files, tests, declarations, and by their underscore what extensions share. */
function isPassedOver(name: string): boolean {
  return /^[._]|^node_modules$/.test(name) || /\.(d|test|spec)\.m?[jt]s$/.test(name);
}

/** Absolute paths of entry modules that are there, and what was wrong. */
export interface Entries {
  entries: readonly string[];
  problems: readonly FindProblem[];
}

const noEntries: Entries = { entries: [], problems: [] };

function entry(path: string): Entries {
  return { entries: [path], problems: [] };
}

function problem(path: string, message: string, hint: string): Entries {
  return { entries: [], problems: [{ path, message, hint }] };
}

function joined(parts: readonly Entries[]): Entries {
  return {
    entries: parts.flatMap(({ entries }) => entries),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

/** What follows from what a path is, links followed; where it is nothing that can be read, the problem with its hint. */
function entriesBy(path: string, hint: string, of: (stats: Stats) => Entries): Entries {
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch (error) {
    return unreadable(path, error, hint);
  }
  return of(stats);
}

function unreadable(path: string, error: unknown, hint: string): Entries {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ELOOP") return problem(path, "It is a link to itself.", hint);
  if (code === "ENOENT") return problem(path, "It does not exist.", hint);
  if (code === "ENOTDIR") return problem(path, "It is not a folder.", hint);
  return problem(path, `Cannot read it: ${message}.`, hint);
}
