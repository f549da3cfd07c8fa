import { lstat, readdir, readlink, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { closestNames } from "@bonsai-agent/messages/host";
import { outputFolder } from "./command-output.ts";
import { errorCode, fileProblem } from "./result-text.ts";

/** A path outside the project that a tool wants to use. */
export interface PathRequest {
  /** Absolute, symbolic links resolved as far as it exists. */
  path: string;
  toolName: string;
  access: "read" | "write";
  /** Aborted when the user stops the work. */
  signal: AbortSignal;
}

/** Asks the user whether a tool may use a path outside the project. Undefined, without a UI to ask on, refuses it. */
export type ConfirmPath = (request: PathRequest) => Promise<boolean | undefined>;

/** Linux follows at most this many links. */
const MAX_LINKS = 40;

interface PathGuardOptions {
  cwd: string;
  /** Files and folders outside the project that tools may use. */
  allow: readonly string[];
  /** Returns files and folders outside the project that tools may read. */
  readable: () => readonly string[];
  confirmPath?: ConfirmPath | undefined;
}

export interface GuardedPath {
  /** Absolute, symbolic links resolved: the checked path is the opened path. */
  real: string;
  /** For messages: relative to the project inside it, else absolute. */
  shown: string;
}

/** Resolves the path of a tool call, as the model wrote it. Rejects with a sentence for the model. */
export type PathGuard = (request: PathRequest) => Promise<GuardedPath>;

/** Keeps file tools inside the project, and asks about other paths. */
export function pathGuard({ cwd, allow, readable, confirmPath }: PathGuardOptions): PathGuard {
  return async (request) => {
    const { path, access } = request;
    const real = await realPath(absolutePath(cwd, path));
    const project = await realPath(cwd);
    const places = access === "read" ? [...allow, ...readable()] : allow;
    const roots = [
      project,
      ...(await Promise.all(places.map((place) => rootAt(() => absolutePath(cwd, place))))).flat(),
    ];
    if (access === "read") roots.push(...(await rootAt(outputFolder)));
    const isAllowed = roots.some((root) => isInside(root, real));
    const answer = isAllowed || (await confirmPath?.({ ...request, path: real }));
    const shown = isInside(project, real) ? relative(project, real).split(sep).join("/") || "." : real;
    if (answer) return { real, shown };
    const target = real.endsWith(path) ? "" : ` (it points to ${real})`;
    const use = access === "read" ? "read" : "change";
    const refusal =
      answer === false
        ? `The user did not allow you to ${use} it.`
        : `You may not ${use} it. Work inside the project, or ask the user to add its folder to the setting paths.allow.`;
    throw new Error(`${path}${target} is outside the project ${project}. ${refusal}`);
  };
}

/** Empty for a path that cannot be resolved, such as a circle of links. */
async function rootAt(path: () => string): Promise<string[]> {
  try {
    return [await realPath(path())];
  } catch {
    return [];
  }
}

/** With `~` and `file:` expanded. */
export function absolutePath(cwd: string, path: string): string {
  if (path.includes("\0")) throw new Error(`The path ${JSON.stringify(path)} contains a NUL character.`);
  if (path.startsWith("file://")) return fileURLToPath(path);
  if (path === "~") return homedir();
  if (path.startsWith("~/") || path.startsWith(`~${sep}`)) return join(homedir(), path.slice(2));
  return resolve(cwd, path);
}

/** Resolves symbolic links as far as the path exists. */
async function realPath(path: string, linksLeft: number = MAX_LINKS): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw fileProblem("Accessing", path, error);
  }
  const folder = dirname(path);
  if (folder === path) return path;
  const target = await readlink(path).catch(noLink);
  if (target === undefined) return join(await realPath(folder, linksLeft), basename(path));
  if (linksLeft === 0) throw fileProblem("Accessing", path, { code: "ELOOP" });
  return realPath(resolve(await realPath(folder, linksLeft), target), linksLeft - 1);
}

/** Checks a path again before its use: a parallel command may have put a link in its way. */
export async function refuseMoved(real: string): Promise<void> {
  const now = await realPath(real);
  if (now !== real) throw new Error(`it now points to ${now}`);
}

/** True for the folder itself and all in it; both absolute, symbolic links resolved. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Returns undefined for a missing path and for one that is no link. */
function noLink(error: unknown): undefined {
  const code = errorCode(error);
  if (code === "EINVAL" || code === "ENOENT" || code === "ENOTDIR" || code === "UNKNOWN") return undefined;
  throw error;
}

/** Names to suggest for a missing one. */
const MAX_SUGGESTIONS = 3;

/** Resolves a path that must exist. macOS writes accents and spaces of names in another way than models. */
export async function existingPath(guard: PathGuard, question: PathRequest): Promise<GuardedPath> {
  const guarded = await lookalikePath(guard, question);
  if (await exists(guarded.real)) return guarded;
  const { real, shown } = guarded;
  const folder = await deepestFolder(dirname(real));
  const near =
    folder === dirname(real) ? closestNames(basename(real), await namesIn(folder), MAX_SUGGESTIONS) : [];
  const hint =
    folder !== dirname(real)
      ? `: the nearest folder that exists is ${folder}.`
      : near.length === 0
        ? ". Use ls or find to look for it."
        : `. Did you mean ${near.map((name) => join(dirname(shown), name)).join(", ")}?`;
  throw Object.assign(new Error(`There is no ${shown}${hint}`), { code: "ENOENT" });
}

/** Replaces each missing name of a path with the existing name that looks the same, if there is exactly one. */
export async function lookalikePath(guard: PathGuard, question: PathRequest): Promise<GuardedPath> {
  const guarded = await guard(question);
  if (await exists(guarded.real)) return guarded;
  let path = await deepestFolder(dirname(guarded.real));
  const missingNames = relative(path, guarded.real).split(sep);
  for (const [at, name] of missingNames.entries()) {
    const variant = lookalikeName(name, await namesIn(path));
    if (variant === undefined) {
      path = join(path, ...missingNames.slice(at));
      break;
    }
    path = join(path, variant);
    if (at < missingNames.length - 1 && (await deepestFolder(path)) !== path) {
      path = join(path, ...missingNames.slice(at + 1));
      break;
    }
  }
  return path === guarded.real ? guarded : guard({ ...question, path });
}

/** Returns the name that looks the same. Undefined if there is none, or more than one. */
export function lookalikeName(name: string, names: readonly string[]): string | undefined {
  const variants = names.filter((other) => plainName(other) === plainName(name));
  return variants.length === 1 ? variants[0] : undefined;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return false;
      throw fileProblem("Accessing", path, error);
    },
  );
}

/** Empty for a folder without permission to list it. */
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
