import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { globMatcher } from "@bonsai-agent/agent/host";
import { z } from "zod";

const indexNames = ["index.ts", "index.mts", "index.js", "index.mjs"];

/** The extensions of a folder that is searched: its modules, and its folders that are one. It need not exist. */
export function entriesIn(folder: string): Entries {
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return noEntries;
    return unreadable(folder, error, "It must be a folder that you may read.");
  }
  return joined(
    names.filter((name) => !isPassedOver(name)).map((name) => searched(join(folder, name), name)),
  );
}

/** The extensions at a path that somebody named: a module, or a folder with one or several. */
export function entriesAt(path: string, cwd: string): Entries {
  if (path.startsWith("npm:")) {
    const hint = `Run \`bonsai install ${path}\` once; it is loaded from then on.`;
    return problem(path, "It is a package, not a path.", hint);
  }
  const absolute = resolve(cwd, path.replace(/^~(?=$|[\\/])/, homedir()));
  return entriesBy(absolute, "Mend the path, or leave it out.", (stats) => {
    if (!stats.isDirectory()) return entry(absolute);
    const found = folderEntries(absolute) ?? entriesIn(absolute);
    return isEmpty(found) ? withoutExtension(absolute) : found;
  });
}

/** The extensions of a package: what its package.json names, else what stands in its folder `extensions`. */
export function packageExtensions(folder: string): Entries {
  return entriesBy(folder, "Install the package again, or remove it with `bonsai remove`.", (stats) => {
    if (!stats.isDirectory()) return entry(folder);
    return manifestEntries(folder) ?? entriesIn(join(folder, "extensions"));
  });
}

/** What a folder is by itself: what its package.json names, else its index; undefined where it has neither. */
function folderEntries(folder: string): Entries | undefined {
  return manifestEntries(folder) ?? indexEntry(folder);
}

/** What a path in a package.json stands for. */
function namedEntries(path: string): Entries {
  return entriesBy(path, "Mend that path in the package.json.", (stats) =>
    stats.isDirectory() ? (indexEntry(path) ?? entriesIn(path)) : entry(path),
  );
}

function indexEntry(folder: string): Entries | undefined {
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  const index = indexNames.map((name) => join(folder, name)).find(isFile);
  return index === undefined ? undefined : entry(index);
}

function searched(path: string, name: string): Entries {
  return entriesBy(path, "Remove it, or mend where it leads.", (stats) => {
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
    'Give it an index.ts, or a package.json with {"bonsai": {"extensions": ["./file.ts"]}}. A folder of shared code is passed over where its name begins with _.';
  return problem(folder, "There is no extension in it.", hint);
}

const listSchema = z.object({ extensions: z.array(z.string()).optional() });
const manifestSchema = z.object({ bonsai: listSchema.optional(), pi: listSchema.optional() });

/**
 * What the package.json of a folder names as extensions, by `bonsai.extensions`, else by `pi.extensions`: paths or
 * globs; one that begins with `!` takes away. Undefined where it says nothing of extensions, or there is none.
 */
function manifestEntries(folder: string): Entries | undefined {
  const manifest = readManifest(join(folder, "package.json"));
  if (manifest === undefined) return undefined;
  if ("hint" in manifest) return { entries: [], problems: [manifest] };
  const patterns = manifest.bonsai?.extensions ?? manifest.pi?.extensions;
  if (patterns === undefined) return undefined;
  const isExclusion = (pattern: string) => pattern.startsWith("!");
  const excluded = patterns.filter(isExclusion).flatMap((pattern) => matches(folder, pattern.slice(1)));
  const { entries, problems } = joined(
    patterns.filter((pattern) => !isExclusion(pattern)).map((pattern) => named(folder, pattern)),
  );
  return { entries: [...new Set(entries)].filter((path) => !excluded.includes(path)), problems };
}

function named(folder: string, pattern: string): Entries {
  const file = join(folder, "package.json");
  const hint = "Mend its list of extensions.";
  if (isOutside(folder, pattern)) {
    return problem(file, `It names ${pattern}, which lies outside its folder.`, hint);
  }
  if (!/[*?[\]{}]/.test(pattern)) return namedEntries(resolve(folder, pattern));
  const paths = matches(folder, pattern).filter((path) => !isPassedOver(basename(path)));
  if (paths.length === 0) return problem(file, `It names ${pattern}, which no file matches.`, hint);
  return joined(paths.map(namedEntries));
}

/** A package of more files names its extensions one by one. */
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
function pathsBelow(folder: string, deepest: number): string[] {
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

function readManifest(file: string): z.infer<typeof manifestSchema> | FindProblem | undefined {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    return { path: file, message: `It cannot be read as JSON: ${message}.`, hint: "Mend it, or remove it." };
  }
  const manifest = manifestSchema.safeParse(json);
  if (manifest.success) return manifest.data;
  const [issue] = manifest.error.issues;
  const place = issue?.path.join(".") || "its top";
  const hint = 'Write {"bonsai": {"extensions": ["./index.ts"]}}.';
  return { path: file, message: `It is wrong at ${place}: ${issue?.message}.`, hint };
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
  if (code === "ELOOP") return problem(path, "It is a link that leads to itself.", hint);
  if (code === "ENOENT") return problem(path, "It is not there.", hint);
  if (code === "ENOTDIR") return problem(path, "It is no folder.", hint);
  return problem(path, `It cannot be read: ${message}.`, hint);
}

/** What was looked for and cannot be loaded. */
export interface FindProblem {
  path: string;
  message: string;
  hint: string;
}
