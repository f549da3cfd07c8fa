import { lstat, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode, fileProblem } from "./file-problem.ts";
import type { GuardedPath, PathGuard, PathQuestion } from "./path-guard.ts";

/** Names that are offered in place of a missing one. */
const MAX_SUGGESTIONS = 3;

/**
 * A path that must exist. A name that differs only in how its characters are encoded is taken for it: macOS writes
 * accents decomposed and puts a narrow space into the names of screenshots, which models write as plain ones.
 */
export async function existingPath(guard: PathGuard, question: PathQuestion): Promise<GuardedPath> {
  const guarded = await guard(question);
  if (await exists(guarded.real)) return guarded;
  const folder = await deepestFolder(dirname(guarded.real));
  const names = folder === dirname(guarded.real) ? await namesIn(folder) : [];
  const name = basename(guarded.real);
  const variants = names.filter((other) => plainName(other) === plainName(name));
  if (variants.length === 1) return guard({ ...question, path: join(folder, variants[0]!) });
  throw new Error(missing({ shown: guarded.shown, real: guarded.real, folder, names }));
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return false;
    throw fileProblem("Looking at", path, error);
  }
}

/** None of a folder that may be entered but not listed: then there is nothing to suggest. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errorCode(error) === "EACCES" || errorCode(error) === "EPERM") return [];
    throw fileProblem("Listing", folder, error);
  }
}

async function deepestFolder(path: string): Promise<string> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isDirectory() || path === dirname(path)) return path;
  return deepestFolder(dirname(path));
}

function plainName(name: string): string {
  return name
    .normalize("NFC")
    .replaceAll(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/[\u201c\u201d]/g, '"');
}

interface Missing {
  shown: string;
  real: string;
  folder: string;
  names: readonly string[];
}

function missing({ shown, real, folder, names }: Missing): string {
  if (folder !== dirname(real)) return `There is no ${shown}: the nearest folder that exists is ${folder}.`;
  const near = nearNames(basename(real), names);
  if (near.length === 0) return `There is no ${shown}. Use ls or find to see what is there.`;
  const offered = near.map((name) => join(dirname(shown), name)).join(", ");
  return `There is no ${shown}. Did you mean ${offered}?`;
}

/** The most alike first; only those that a slip could explain. */
export function nearNames(name: string, names: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const allowed = Math.max(2, Math.floor(wanted.length / 3));
  return names
    .map((other) => ({ other, distance: editDistance(wanted, other.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ other }) => other);
}

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
