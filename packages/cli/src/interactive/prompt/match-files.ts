import { fuzzyMatch } from "../terminal/tui.ts";
import type { ProjectFile } from "./project-files.ts";

/** The most that a completion offers. */
const MOST_MATCHES = 30;
/** As many as can be looked at between two keys. */
const FILES_PER_TURN = 4_000;

/**
 * The files that a query means, best first: in the name before in the folders, then the shorter path. Keys get their turn
 * in between; nothing is found once the signal aborts.
 */
export async function matchFiles(
  files: readonly ProjectFile[],
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<ProjectFile[]> {
  let best: ProjectFile[] = [];
  for (let from = 0; from < files.length; from += FILES_PER_TURN) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) return [];
    best = bestOf([...best, ...files.slice(from, from + FILES_PER_TURN)], query);
  }
  return best;
}

/** The best of a list that is short enough for one turn. */
function bestOf(files: readonly ProjectFile[], query: string): ProjectFile[] {
  if (query === "")
    return files.filter(({ path }) => !path.slice(0, -1).includes("/")).slice(0, MOST_MATCHES);
  const letters = query.toLowerCase();
  const ranked: { file: ProjectFile; rank: number }[] = [];
  for (const file of files) {
    const rank = rankOf(file.path.toLowerCase(), letters);
    if (rank !== undefined) ranked.push({ file, rank });
  }
  ranked.sort((a, b) => a.rank - b.rank || a.file.path.length - b.file.path.length);
  return ranked.slice(0, MOST_MATCHES).map(({ file }) => file);
}

/** Lower is better. Undefined where the letters are not all there, in their order. */
function rankOf(path: string, query: string): number | undefined {
  const name = path.slice(path.lastIndexOf("/", path.length - 2) + 1);
  if (name.startsWith(query)) return 0;
  if (name.includes(query)) return 1;
  if (path.includes(query)) return 2;
  // Most files of a project are told apart by this, which costs less than a score.
  if (!hasLetters(path, query)) return undefined;
  const { matches, score } = fuzzyMatch(query, path);
  return matches ? 3 + 1 / (1 + Math.exp(-score / 100)) : undefined;
}

function hasLetters(path: string, query: string): boolean {
  let at = -1;
  for (const letter of query) {
    at = path.indexOf(letter, at + 1);
    if (at < 0) return false;
  }
  return true;
}
