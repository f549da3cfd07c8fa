import { lstat, readdir, readlink, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { closestNames } from "@bonsai-agent/messages/host";
import { outputFolder } from "./command-output.ts";
import { errorCode, fileProblem } from "./result-text.ts";

/** A path beyond the project that a tool wants to touch. */
export interface PathRequest {
  /** Absolute, symbolic links resolved as far as it exists. */
  path: string;
  /** The tool that wants it. */
  toolName: string;
  access: "read" | "write";
  /** Aborted when the user stops the work. */
  signal: AbortSignal;
}

/**
 * Asks the user; true lets the tool go on. Where nobody can be asked it is undefined, and a path beyond the project is
 * refused.
 */
export type ConfirmPath = (request: PathRequest) => Promise<boolean | undefined>;

/** As many as Linux follows before it calls a path a circle. */
const MAX_LINKS = 40;
/** Readable in the folders above the project too: the system prompt names them by path. */
const instructionFiles = ["AGENTS.md", "CLAUDE.md"];

interface PathGuardOptions {
  cwd: string;
  /** Folders, and files, beyond it. */
  allow: readonly string[];
  /** The same, for reading alone, asked each time. */
  readable: () => readonly string[];
  confirmPath?: ConfirmPath | undefined;
}

interface PathQuestion {
  toolName: string;
  /** As the model wrote it. */
  path: string;
  access: "read" | "write";
  signal: AbortSignal;
}

export interface GuardedPath {
  /** Absolute, symbolic links resolved: what is checked is what is opened. */
  real: string;
  /** For messages: relative to the project inside it, else absolute. */
  shown: string;
}

/** Says where a path of a tool call leads, or refuses it. Rejects with a sentence for the model. */
export type PathGuard = (question: PathQuestion) => Promise<GuardedPath>;

/** Keeps file tools inside the project, and asks about what lies beyond. */
export function pathGuard({ cwd, allow, readable, confirmPath }: PathGuardOptions): PathGuard {
  return async ({ path, ...question }) => {
    const asked = absolutePath(cwd, path);
    const real = await realPath(asked);
    const project = await realPath(cwd);
    const beyond = question.access === "read" ? [...allow, ...readable()] : allow;
    const roots = [
      project,
      ...(await Promise.all(beyond.map((place) => rootAt(() => absolutePath(cwd, place))))).flat(),
    ];
    if (question.access === "read") roots.push(...(await rootAt(outputFolder)));
    const isAllowed =
      roots.some((root) => isInside(root, real)) || isInstructionAbove(project, real, question);
    const guarded = { real, shown: shownPath(project, real) };
    const answer = isAllowed || (await confirmPath?.({ ...question, path: real }));
    if (answer) return guarded;
    throw new Error(refusal({ path, real, project, access: question.access, wasAsked: answer === false }));
  };
}

/** Empty for a path that cannot be resolved (a circle of links, no folder for temporary files). */
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

/** Symbolic links resolved as far as the path exists; the rest as it is written. */
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

/**
 * A path that was checked must still lead to itself when it is used: a command that runs beside could have put a link
 * in its way.
 */
export async function refuseMoved(real: string): Promise<void> {
  const now = await realPath(real);
  if (now !== real) throw new Error(`it now points to ${now}`);
}

/** True for the folder itself and all in it; both absolute, symbolic links resolved. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Relative to the project inside it, with `/`; else absolute. */
function shownPath(project: string, path: string): string {
  if (!isInside(project, path)) return path;
  return relative(project, path).split(sep).join("/") || ".";
}

function isInstructionAbove(project: string, real: string, { access }: { access: string }): boolean {
  return access === "read" && instructionFiles.includes(basename(real)) && isInside(dirname(real), project);
}

/** Returns undefined for a missing path and for one that is no link. */
function noLink(error: unknown): undefined {
  const code = errorCode(error);
  if (code === "EINVAL" || code === "ENOENT" || code === "ENOTDIR" || code === "UNKNOWN") return undefined;
  throw error;
}

interface Refusal {
  path: string;
  real: string;
  project: string;
  access: "read" | "write";
  wasAsked: boolean;
}

function refusal({ path, real, project, access, wasAsked }: Refusal): string {
  const target = real.endsWith(path) ? "" : ` (it points to ${real})`;
  const deed = access === "read" ? "read" : "change";
  if (wasAsked)
    return `${path}${target} is outside the project ${project}. The user did not allow you to ${deed} it.`;
  return `${path}${target} is outside the project ${project}. You may not ${deed} it. Work inside the project, or ask the user to add its folder to the setting paths.allow.`;
}

/** Names that are offered in place of a missing one. */
const MAX_SUGGESTIONS = 3;

/**
 * A path that must exist. A name that differs only in how its characters are encoded is taken for it: macOS writes
 * accents decomposed and puts a narrow space into the names of screenshots, which models write as plain ones.
 */
export async function existingPath(guard: PathGuard, question: PathQuestion): Promise<GuardedPath> {
  const guarded = await lookalikePath(guard, question);
  if (await exists(guarded.real)) return guarded;
  const folder = await deepestFolder(dirname(guarded.real));
  const names = folder === dirname(guarded.real) ? await namesIn(folder) : [];
  // With the code by which programs know it.
  throw Object.assign(new Error(missing(guarded, folder, names)), { code: "ENOENT" });
}

/** Replaces each missing name of a path with the existing name that looks the same, if there is exactly one. */
export async function lookalikePath(guard: PathGuard, question: PathQuestion): Promise<GuardedPath> {
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
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return false;
    throw fileProblem("Accessing", path, error);
  }
}

/** Empty for a folder that may be entered but not listed. */
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

function missing({ shown, real }: GuardedPath, folder: string, names: readonly string[]): string {
  if (folder !== dirname(real)) return `There is no ${shown}: the nearest folder that exists is ${folder}.`;
  const near = closestNames(basename(real), names, MAX_SUGGESTIONS);
  if (near.length === 0) return `There is no ${shown}. Use ls or find to look for it.`;
  const offered = near.map((name) => join(dirname(shown), name)).join(", ");
  return `There is no ${shown}. Did you mean ${offered}?`;
}
