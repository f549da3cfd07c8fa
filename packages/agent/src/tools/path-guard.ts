import { readlink, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConfirmPath } from "../confirm-path.ts";
import { errorCode, fileProblem } from "./file-problem.ts";
import { outputFolder } from "./output-file.ts";

/** As many as Linux follows before it calls a path a circle. */
const MAX_LINKS = 40;
/** Readable in the folders above the project too: the system prompt names them by path. */
const instructionFiles = ["AGENTS.md", "CLAUDE.md"];

export interface PathGuardOptions {
  cwd: string;
  /** Folders, and files, beyond it. */
  allow: readonly string[];
  /** The same, for reading alone. */
  readable: readonly string[];
  confirmPath?: ConfirmPath | undefined;
}

export interface PathQuestion {
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
    const beyond = question.access === "read" ? [...allow, ...readable] : allow;
    const roots = [
      project,
      ...(await Promise.all(beyond.map((place) => rootAt(() => absolutePath(cwd, place))))).flat(),
    ];
    if (question.access === "read") roots.push(...(await rootAt(outputFolder)));
    const isAllowed =
      roots.some((root) => isInside(root, real)) || isInstructionAbove(project, real, question);
    const guarded = { real, shown: shownPath(project, real) };
    if (isAllowed || (await confirmPath?.({ ...question, path: real }))) return guarded;
    throw new Error(
      refusal({ path, real, project, access: question.access, wasAsked: confirmPath !== undefined }),
    );
  };
}

/** None for what cannot be looked at (a circle of links, no folder for temporary files): all else stays usable. */
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
export async function realPath(path: string, linksLeft: number = MAX_LINKS): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw fileProblem("Looking at", path, error);
  }
  const folder = dirname(path);
  if (folder === path) return path;
  const target = await readlink(path).catch(noLink);
  if (target === undefined) return join(await realPath(folder, linksLeft), basename(path));
  if (linksLeft === 0) throw fileProblem("Looking at", path, { code: "ELOOP" });
  return realPath(resolve(await realPath(folder, linksLeft), target), linksLeft - 1);
}

/**
 * A path that was checked must still lead to itself when it is used: a command that runs beside could have put a link
 * in its way.
 */
export async function refuseMoved(real: string): Promise<void> {
  const now = await realPath(real);
  if (now !== real) throw new Error(`it leads to ${now} by now`);
}

export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Relative to the project inside it, with `/`; else absolute. */
export function shownPath(project: string, path: string): string {
  if (!isInside(project, path)) return path;
  return relative(project, path).split(sep).join("/") || ".";
}

function isInstructionAbove(project: string, real: string, { access }: { access: string }): boolean {
  return access === "read" && instructionFiles.includes(basename(real)) && isInside(dirname(real), project);
}

/** What is missing, or no link, leads nowhere else. */
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
  const leads = real.endsWith(path) ? "" : ` (it leads to ${real})`;
  const deed = access === "read" ? "read" : "changed";
  if (wasAsked)
    return `${path}${leads} lies outside the project ${project}, and the user did not allow it to be ${deed}.`;
  return `${path}${leads} lies outside the project ${project} and may not be ${deed}. Work inside the project, or ask the user to add its folder to the setting paths.allow.`;
}
