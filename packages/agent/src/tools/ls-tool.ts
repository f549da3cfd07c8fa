import type { Dirent } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { existingPath, type GuardedPath, type PathGuard } from "./path-guard.ts";
import { errorCode, fileProblem, MAX_RESULT_BYTES, shownCount, truncationTo } from "./result-text.ts";
import { defineTool, type Tool } from "./tool-registry.ts";

/** A larger folder is a store of data. */
const DEFAULT_LIMIT = 500;

const parameters = z.object({
  path: z.string().min(1).optional().describe("The folder. Default: the working folder."),
  limit: z.int().min(1).optional().describe(`How many entries to return. Default ${DEFAULT_LIMIT}.`),
});

export function lsTool(guard: PathGuard): Tool {
  return defineTool({
    name: "ls",
    effects: "none",
    label: "List",
    description:
      "Lists a folder sorted by name, including hidden entries. Folders end with /, links show their target.",
    parameters,
    async execute({ input: { path = ".", limit = DEFAULT_LIMIT }, signal }) {
      const folder = await existingPath(guard, { toolName: "ls", path, access: "read", signal });
      const entries = await list(folder);
      const wanted = await Promise.all(entries.slice(0, limit).map((entry) => line(folder, entry)));
      const shown = withinBytes(wanted);
      const more = entries.length - shown.length;
      const lines =
        more > 0 ? [...shown, `[${shownCount(more)} more. Raise limit, or use find with a glob.]`] : shown;
      const text = lines.join("\n") || "(an empty folder)";
      const totals = { totalLines: wanted.length, totalBytes: Buffer.byteLength(wanted.join("\n")) };
      const truncation = truncationTo(shown.join("\n"), totals);
      const details = {
        ...{ entries: entries.length, shown: shown.length },
        ...(entries.length > limit ? { entryLimitReached: limit } : {}),
        ...(shown.length < wanted.length ? { truncation } : {}),
      };
      return { content: [{ type: "text", text }], details };
    },
  });
}

async function list({ real, shown }: GuardedPath): Promise<Dirent[]> {
  try {
    const entries = await readdir(real, { withFileTypes: true });
    return entries.sort((a, b) => compareNames(a.name, b.name));
  } catch (error) {
    if (errorCode(error) === "ENOTDIR") throw new Error(`${shown} is a file. Use read to see its contents.`);
    throw fileProblem("Listing", shown, error);
  }
}

/** Ignores case, and gives the same order on every machine. */
function compareNames(a: string, b: string): number {
  const [lowerA, lowerB] = [a.toLowerCase(), b.toLowerCase()];
  if (lowerA !== lowerB) return lowerA < lowerB ? -1 : 1;
  return a < b ? -1 : 1;
}

function withinBytes(lines: readonly string[]): string[] {
  let bytes = 0;
  const end = lines.findIndex((one) => {
    bytes += Buffer.byteLength(one) + 1;
    return bytes > MAX_RESULT_BYTES;
  });
  return lines.slice(0, end < 0 ? lines.length : end);
}

async function line({ real }: GuardedPath, entry: Dirent): Promise<string> {
  if (entry.isDirectory()) return `${entry.name}/`;
  if (!entry.isSymbolicLink()) return entry.name;
  const target = await readlink(join(real, entry.name)).catch(() => "?");
  return `${entry.name} -> ${target}`;
}
