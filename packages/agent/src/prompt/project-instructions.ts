import { lstatSync, type Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import { formatOfBom, readRegularFile, unmarkedUtf16 } from "../tools/files/open-file.ts";
import { isInside } from "../tools/path-guard.ts";
import { errorCode, firstBytes } from "../tools/result-text.ts";
import type { ProjectInstruction } from "./system-prompt.ts";

/** Folders of other agents with instructions for all projects. Bonsai reads the first one if it has none of its own. */
const userFolders = [".claude", ".pi/agent"];
/** Files named with `@`, directly or by a named file. */
const MAX_IMPORTS = 20;

/** About 8,000 tokens, in every request. Longer texts belong in files that are read on demand. */
const MAX_INSTRUCTION_BYTES = 32 * 1024;

export interface ProjectInstructionsOptions {
  /** Absolute. */
  cwd: string;
  /** The folder of Bonsai's own files, whose instructions come first; see `bonsaiHome()`. */
  home: string;
  /** Bonsai reads the first file in each folder that is not empty. */
  fileNames: readonly string[];
  /** Bonsai reads files of this user and of root. Default: the user of this process; on Windows all users. */
  uid?: number | undefined;
}

/**
 * Reads the instruction files for work in a folder, the most general first: Bonsai's own (else the user's of Claude Code or
 * pi), then those of the folders from the root of the repository (else the home folder) down to this one, each with the
 * files that a CLAUDE.md names with `@`. Above the project, it reads only files of the user and root: on a shared disk,
 * anybody can leave instructions. In the project, it also reads files of the owner of the working folder. Never rejects.
 */
export async function projectInstructions({
  cwd,
  home,
  fileNames,
  uid = process.getuid?.(),
}: ProjectInstructionsOptions): Promise<ProjectInstruction[]> {
  const instructions: ProjectInstruction[] = [];
  const seen = new Set<string>();
  const projectFolders = foldersDownTo(resolve(cwd));
  const outermost = projectFolders[0]!;
  const repository = isPresent(join(outermost, ".git")) ? outermost : undefined;
  const owners = await fileOwners(resolve(cwd), repository, uid);
  for (const folder of [undefined, ...projectFolders]) {
    const path = firstWithText(folder === undefined ? ownPaths(home, fileNames) : pathsIn(folder, fileNames));
    const real = path && (await realpath(path).catch(() => path));
    if (path === undefined || real === undefined || seen.has(real)) continue;
    seen.add(real);
    const boundary = folder && (repository ?? folder);
    const isStray = boundary !== undefined && (await leadsAstray(real, boundary));
    const allowed = folder === undefined ? undefined : owners(folder);
    const problem = `${path} was not read: it links to ${real}, which is outside the project and not a Markdown file.`;
    const instruction = isStray ? { path, text: "", problem } : await readInstruction(path, allowed);
    instructions.push(instruction);
    if (basename(path) === "CLAUDE.md")
      instructions.push(...(await imported(instruction, { boundary, owners: allowed, seen })));
  }
  return instructions;
}

/** Every path at which an instruction file can be. */
export function instructionPaths(options: ProjectInstructionsOptions): string[] {
  const { cwd, home, fileNames } = options;
  const folders = foldersDownTo(resolve(cwd));
  return [...ownPaths(home, fileNames), ...folders.flatMap((folder) => pathsIn(folder, fileNames))];
}

function ownPaths(home: string, fileNames: readonly string[]): string[] {
  const folders = [home, ...userFolders.map((folder) => join(homedir(), folder))];
  return folders.flatMap((folder) => fileNames.map((name) => join(folder, name)));
}

/** Includes the `.claude` of Claude Code, except in the home folder, where it is for all projects. */
function pathsIn(folder: string, fileNames: readonly string[]): string[] {
  const folders = folder === homedir() ? [folder] : [folder, join(folder, ".claude")];
  return folders.flatMap((each) => fileNames.map((name) => join(each, name)));
}

/**
 * Reads the files that a text names, and the files that they name. Ignores missing files.
 * @param boundary named files must be inside this folder; undefined for the user's own instructions
 * @param seen real paths of the files so far
 */
async function imported(
  { path, text }: ProjectInstruction,
  { boundary, owners, seen }: { boundary: string | undefined; owners: Owners; seen: Set<string> },
): Promise<ProjectInstruction[]> {
  const read: ProjectInstruction[] = [];
  const waiting = importsIn(text, path);
  let chars = 0;
  for (let next = waiting.shift(); next !== undefined && read.length < MAX_IMPORTS; next = waiting.shift()) {
    const real = await realpath(next).catch(() => undefined);
    if (real === undefined || seen.has(real) || !(await isFile(real))) continue;
    seen.add(real);
    if (boundary !== undefined && !(await isWithin(boundary, real))) {
      const problem = `${next} (included by ${path}) was not read: it is outside the project.`;
      read.push({ path: next, text: "", problem });
      continue;
    }
    const instruction = await readInstruction(next, owners);
    chars += instruction.text.length;
    // They are in every request, so their sum is bounded too.
    if (chars <= MAX_INSTRUCTION_BYTES) {
      read.push(instruction);
      waiting.push(...importsIn(instruction.text, next));
    } else {
      const problem = `${next} was not read: the files included by ${path} exceed ${MAX_INSTRUCTION_BYTES / 1024} KB in total.`;
      read.push({ path: next, text: "", problem });
    }
  }
  return read;
}

/** Mentions begin a word, as in Claude Code: an `@` inside a word is part of an address. */
const mention = /(?<=^|[\s(])@([^\s"'`<>()[\]{}]+)/gm;
const code = /^(?:```|~~~)[^\n]*\n[\s\S]*?(?:^(?:```|~~~)[ \t]*$|(?![\s\S]))|(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/gm;

/** Returns the files that a text names with `@` outside code, in order, each once. They may not exist. */
export function importsIn(text: string, path: string): string[] {
  const named = [...text.replaceAll(code, "").matchAll(mention)].map(([, name = ""]) =>
    name.replace(/[.,;:!?]+$/, ""),
  );
  const paths = named
    .filter((name) => name !== "")
    .map((name) => (name.startsWith("~/") ? join(homedir(), name.slice(2)) : resolve(dirname(path), name)));
  return [...new Set(paths)];
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function isWithin(boundary: string, real: string): Promise<boolean> {
  return isInside(await realpath(boundary).catch(() => boundary), real);
}

/** True for a link out of the project, except to Markdown. The project is not trusted yet: it could link to a private key. */
async function leadsAstray(real: string, boundary: string): Promise<boolean> {
  return !(await isWithin(boundary, real)) && extname(real).toLowerCase() !== ".md";
}

/** User ids; undefined for all users. */
type Owners = ReadonlySet<number> | undefined;

/** Owners of readable files, by folder. A repository of another owner (`/tmp/.git`) is not the project. */
async function fileOwners(
  cwd: string,
  repository: string | undefined,
  uid: number | undefined,
): Promise<(folder: string) => Owners> {
  if (uid === undefined) return () => undefined;
  const trusted = new Set([uid, 0]);
  const own = await stat(cwd).catch(() => undefined);
  const inProject = own === undefined ? trusted : new Set([...trusted, own.uid]);
  const root = repository === undefined ? undefined : await stat(repository).catch(() => undefined);
  const isProject = (folder: string) => folder === cwd || (root !== undefined && inProject.has(root.uid));
  return (folder) => (isProject(folder) ? inProject : trusted);
}

/** The problem of a file whose text, link or folder belongs to another user. */
function foreign(path: string, parts: readonly Stats[], owners: ReadonlySet<number>): string | undefined {
  const owner = parts.find(({ uid }) => !owners.has(uid))?.uid;
  if (owner === undefined) return undefined;
  return `${path} was not read: the file, its folder or its link target belongs to another user (uid ${owner}). It must belong to you or root.`;
}

/** The folders from the repository or the home folder down to this one. */
function foldersDownTo(cwd: string): string[] {
  const folders = [cwd];
  const userHome = homedir();
  let at = cwd;
  while (!isPresent(join(at, ".git")) && at !== userHome && at !== dirname(at)) {
    at = dirname(at);
    folders.unshift(at);
  }
  return folders;
}

/** Returns the first file that has text or cannot be read, else the first existing file. */
function firstWithText(paths: readonly string[]): string | undefined {
  let empty: string | undefined;
  for (const path of paths) {
    if (!isPresent(path)) continue;
    if (!isBlank(path)) return path;
    empty ??= path;
  }
  return empty;
}

function isBlank(path: string): boolean {
  try {
    const { bytes } = readRegularFile(path, MAX_INSTRUCTION_BYTES + 1);
    return bytes.length <= MAX_INSTRUCTION_BYTES && textOf(bytes) === "";
  } catch {
    return false;
  }
}

/** True also without permission: reading the file then fails with the reason. */
function isPresent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return errorCode(error) !== "ENOTDIR";
  }
}

async function readInstruction(path: string, owners: Owners): Promise<ProjectInstruction> {
  try {
    const { bytes, stats } = readRegularFile(path, MAX_INSTRUCTION_BYTES + 1);
    const places = owners === undefined ? [] : [stats, await lstat(path), await stat(dirname(path))];
    const problem = foreign(path, places, owners ?? new Set());
    if (problem !== undefined) return { path, text: "", problem };
    const text = textOf(bytes);
    if (text === undefined) throw new Error("it is not a text file");
    if (bytes.length <= MAX_INSTRUCTION_BYTES) return { path, text };
    const limit = `${MAX_INSTRUCTION_BYTES / 1024} KB`;
    return {
      path,
      text: `${text}\n[Cut after ${limit}. Read the file for the rest.]`,
      problem: `${path} is longer than ${limit}. The system prompt contains only the beginning.`,
    };
  } catch (error) {
    return { path, text: "", problem: `Cannot read ${path}: ${(error as Error).message}.` };
  }
}

/** Decodes UTF-8 or UTF-16. Returns undefined for binary data. */
function textOf(bytes: Buffer): string | undefined {
  const { encoding } = formatOfBom(bytes) ?? unmarkedUtf16(bytes) ?? { encoding: "utf-8" };
  if (encoding === "utf-8" && bytes.includes(0)) return undefined;
  const first = encoding === "utf-8" ? firstBytes(bytes, MAX_INSTRUCTION_BYTES) : bytes;
  return new TextDecoder(encoding).decode(first).trim();
}
