import { readdirSync, readFileSync } from "node:fs";
import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { globMatcher } from "@bonsai-agent/agent";
import { z } from "zod";
import { type Entries, joined, problem } from "./entries.ts";
import type { FindProblem } from "./found-extension.ts";
import { isPassedOver } from "./module-names.ts";

const listSchema = z.object({ extensions: z.array(z.string()).optional() });
const manifestSchema = z.object({ bonsai: listSchema.optional(), pi: listSchema.optional() });

/**
 * What the package.json of a folder names as extensions, by `bonsai.extensions`, else by `pi.extensions`: paths or
 * globs; one that begins with `!` takes away. Undefined where it says nothing of extensions, or there is none.
 */
export function manifestEntries(folder: string, entriesOf: (path: string) => Entries): Entries | undefined {
  const manifest = readManifest(join(folder, "package.json"));
  if (manifest === undefined) return undefined;
  if ("hint" in manifest) return { entries: [], problems: [manifest] };
  const patterns = manifest.bonsai?.extensions ?? manifest.pi?.extensions;
  if (patterns === undefined) return undefined;
  const isExclusion = (pattern: string) => pattern.startsWith("!");
  const excluded = patterns.filter(isExclusion).flatMap((pattern) => matches(folder, pattern.slice(1)));
  const { entries, problems } = joined(
    patterns.filter((pattern) => !isExclusion(pattern)).map((pattern) => named(folder, pattern, entriesOf)),
  );
  return { entries: [...new Set(entries)].filter((path) => !excluded.includes(path)), problems };
}

function named(folder: string, pattern: string, entriesOf: (path: string) => Entries): Entries {
  const file = join(folder, "package.json");
  const hint = "Mend its list of extensions.";
  if (isOutside(folder, pattern)) {
    return problem(file, `It names ${pattern}, which lies outside its folder.`, hint);
  }
  if (!/[*?[\]{}]/.test(pattern)) return entriesOf(resolve(folder, pattern));
  const paths = matches(folder, pattern).filter((path) => !isPassedOver(basename(path)));
  if (paths.length === 0) return problem(file, `It names ${pattern}, which no file matches.`, hint);
  return joined(paths.map(entriesOf));
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
