import { stat } from "node:fs/promises";
import { isAbsolute, join, sep } from "node:path";
import { z } from "zod";
import { existingPath, type PathGuard } from "../path-guard.ts";
import { MAX_RESULT_BYTES, shownCount, truncationTo } from "../result-text.ts";
import { defineTool, type Tool } from "../tool-registry.ts";
import { coverageNotes, FolderWalk, withLiteralSegments } from "./folder-walk.ts";
import { globMatcher } from "./globs.ts";

/** About 10,000 tokens of paths. */
const DEFAULT_LIMIT = 1_000;

const parameters = z.object({
  pattern: z
    .string()
    .min(1)
    .describe('A glob, such as "*.test.ts" for names anywhere or "src/**/*.json" for paths.'),
  path: z.string().min(1).optional().describe("The folder to search. Default: the working folder."),
  limit: z.int().min(1).optional().describe(`How many paths to return. Default ${DEFAULT_LIMIT}.`),
});

export function findTool(guard: PathGuard): Tool {
  return defineTool({
    name: "find",
    effects: "none",
    label: "Find",
    description:
      "Finds files and folders by a glob, sorted by name. Skips files ignored by .gitignore, unless path is inside an ignored folder.",
    parameters,
    async execute({ input: { pattern, path = ".", limit = DEFAULT_LIMIT }, signal }) {
      const folder = await existingPath(guard, { toolName: "find", path, access: "read", signal });
      if (!(await stat(folder.real)).isDirectory())
        throw new Error(`${folder.shown} is a file. find needs a folder.`);
      const wanted = await withLiteralSegments(relativePattern(pattern, folder.real), folder.real);
      const walk = new FolderWalk({ folder: folder.real, signal });
      const found = await collect(walk, wanted, folder.shown, limit);
      const lines = [...listing(found, pattern, folder.shown), ...coverageNotes(walk.gaps)];
      return { content: [{ type: "text", text: lines.join("\n") }], details: detailsOf(found, limit) };
    },
  });
}

/** The pattern relative to the folder. */
function relativePattern(pattern: string, folder: string): string {
  if (!isAbsolute(pattern)) return pattern;
  if (pattern.startsWith(`${folder}${sep}`)) return `./${pattern.slice(folder.length + 1)}`;
  throw new Error(`The pattern ${pattern} is absolute. Give the folder as path and the rest as pattern.`);
}

interface Found {
  paths: string[];
  count: number;
  /** Size of all paths, one a line. */
  bytes: number;
}

function detailsOf({ paths, count, bytes }: Found, limit: number) {
  const details = { found: count, shown: paths.length };
  if (count === paths.length) return details;
  if (paths.length === limit) return { ...details, resultLimitReached: limit };
  const totals = { totalLines: Math.min(count, limit), totalBytes: bytes };
  return { ...details, truncation: truncationTo(paths.join("\n"), totals) };
}

async function collect(walk: FolderWalk, pattern: string, shown: string, limit: number): Promise<Found> {
  const isWanted = globMatcher(pattern.replace(/\/$/, ""));
  const wantsFolder = pattern.endsWith("/");
  const found: Found = { paths: [], count: 0, bytes: 0 };
  for await (const { path, kind } of walk.entries()) {
    if (!isWanted(path) || (wantsFolder && kind !== "folder")) continue;
    found.count += 1;
    const line = `${shown === "." ? path : join(shown, path)}${kind === "folder" ? "/" : ""}`;
    found.bytes += Buffer.byteLength(line) + 1;
    if (found.paths.length < limit && found.bytes <= MAX_RESULT_BYTES) found.paths.push(line);
  }
  return found;
}

function listing({ paths, count }: Found, pattern: string, shown: string): string[] {
  if (count === 0) {
    const hint = /[*?[{]/.test(pattern) ? "" : ` Try "*${pattern}*".`;
    return [`Nothing matches ${pattern} in ${shown === "." ? "the working folder" : shown}.${hint}`];
  }
  const more = `[${shownCount(count - paths.length)} more. Narrow the pattern or the path, or raise limit.]`;
  return count === paths.length ? paths : [...paths, more];
}
