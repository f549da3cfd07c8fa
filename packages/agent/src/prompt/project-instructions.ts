import { constants, type Stats } from "node:fs";
import { lstat, open, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, extname, join, resolve, sep } from "node:path";
import { formatOfBom, unmarkedUtf16 } from "../tools/files/open-file.ts";
import { errorCode, firstBytes } from "../tools/result-text.ts";

/** Folders of other agents with instructions for all projects. Bonsai reads the first one if it has none of its own. */
const userFolders = [".claude", ".pi/agent"];
/** Files that the instructions name with `@`, and those that these name. */
const MAX_IMPORTS = 20;

/** About 8,000 tokens, in every request: what is longer belongs into files that are read when they are needed. */
const MAX_INSTRUCTION_BYTES = 32 * 1024;

/** One file of instructions for the model. */
export interface ProjectInstruction {
  /** Absolute. */
  path: string;
  /** Empty when it could not be read. */
  text: string;
  /** Why it could not be read, or only in part. */
  problem?: string | undefined;
}

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
 * Instruction files for work in a folder, the most general first: Bonsai's own (without one, the user's of Claude Code or
 * pi), then those of the folders from the root of the repository (or the user's home folder, where there is none) down to
 * this one, each with the files that a CLAUDE.md names with `@`. Above the project, only what the user or root owns is read:
 * in `/tmp` or on a shared disk anybody can leave instructions. Within it, what the owner of the working folder wrote is read
 * as well. Never rejects: what cannot be read says so in `problem`.
 */
export async function projectInstructions({
  cwd,
  home,
  fileNames,
  uid = process.getuid?.(),
}: ProjectInstructionsOptions): Promise<ProjectInstruction[]> {
  const instructions: ProjectInstruction[] = [];
  const seen = new Set<string>();
  const projectFolders = await foldersDownTo(resolve(cwd));
  const outermost = projectFolders[0]!;
  const isRepository = await isPresent(join(outermost, ".git"));
  const owners = await fileOwners({ cwd: projectFolders.at(-1)!, outermost, isRepository, uid });
  for (const folder of [undefined, ...projectFolders]) {
    const path = await firstWithText(
      folder === undefined ? ownPaths(home, fileNames) : pathsIn(folder, fileNames),
    );
    const real = path && (await realpath(path).catch(() => path));
    if (path === undefined || real === undefined || seen.has(real)) continue;
    seen.add(real);
    const boundary = folder !== undefined && isRepository ? outermost : folder;
    const isStray = boundary !== undefined && (await leadsAstray(real, boundary));
    const allowed = folder === undefined ? undefined : owners(folder);
    const instruction = isStray ? strayLink(path, real) : await readInstruction(path, allowed);
    instructions.push(instruction);
    if (basename(path) === "CLAUDE.md")
      instructions.push(...(await imported(instruction, { boundary, owners: allowed, seen })));
  }
  return instructions;
}

/** Every path at which an instruction file can be. */
export async function instructionPaths({
  cwd,
  home,
  fileNames,
}: Pick<ProjectInstructionsOptions, "cwd" | "home" | "fileNames">): Promise<string[]> {
  const folders = await foldersDownTo(resolve(cwd));
  return [...ownPaths(home, fileNames), ...folders.flatMap((folder) => pathsIn(folder, fileNames))];
}

function ownPaths(home: string, fileNames: readonly string[]): string[] {
  const folders = [home, ...userFolders.map((folder) => join(homedir(), folder))];
  return folders.flatMap((folder) => fileNames.map((name) => join(folder, name)));
}

/** Claude Code also looks into `.claude`; in the user's home folder, that is what holds everywhere. */
function pathsIn(folder: string, fileNames: readonly string[]): string[] {
  const folders = folder === homedir() ? [folder] : [folder, join(folder, ".claude")];
  return folders.flatMap((each) => fileNames.map((name) => join(each, name)));
}

interface ImportOptions {
  /** Named files must be inside this folder; undefined for the user's own instructions. */
  boundary: string | undefined;
  owners: Owners;
  /** By where they really are; what is read is added. */
  seen: Set<string>;
}

/** The files that a text names, and those that they name, in this order. One that is not there is no import. */
async function imported(
  { path, text }: ProjectInstruction,
  { boundary, owners, seen }: ImportOptions,
): Promise<ProjectInstruction[]> {
  const read: ProjectInstruction[] = [];
  const waiting = importsIn(text, path);
  let chars = 0;
  for (let next = waiting.shift(); next !== undefined && read.length < MAX_IMPORTS; next = waiting.shift()) {
    const real = await realpath(next).catch(() => undefined);
    if (real === undefined || seen.has(real) || !(await isFile(real))) continue;
    seen.add(real);
    if (boundary !== undefined && !(await isWithin(boundary, real))) {
      read.push({ path: next, text: "", problem: beyond(next, path) });
      continue;
    }
    const instruction = await readInstruction(next, owners);
    chars += instruction.text.length;
    // Each is bounded, and so are all together: they are in every request.
    const fits = chars <= MAX_INSTRUCTION_BYTES;
    read.push(fits ? instruction : { path: next, text: "", problem: tooMuch(next, path) });
    if (fits) waiting.push(...importsIn(instruction.text, next));
  }
  return read;
}

/** At the beginning of a word, as in Claude Code: an `@` inside a word is part of an address. */
const mention = /(?<=^|[\s(])@([^\s"'`<>()[\]{}]+)/gm;
const code = /^(?:```|~~~)[^\n]*\n[\s\S]*?(?:^(?:```|~~~)[ \t]*$|(?![\s\S]))|(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/gm;

/** Returns the files that a text names with `@` outside code, in order, each once. They may not exist. */
export function importsIn(text: string, path: string): string[] {
  const named = [...text.replaceAll(code, "").matchAll(mention)].map(([, name = ""]) =>
    name.replace(/[.,;:!?]+$/, ""),
  );
  const paths = named
    .filter((name) => name !== "")
    .map((name) => {
      return name.startsWith("~/") ? join(homedir(), name.slice(2)) : resolve(dirname(path), name);
    });
  return [...new Set(paths)];
}

function tooMuch(path: string, by: string): string {
  return `${path} was not read: the files included by ${by} exceed ${MAX_INSTRUCTION_BYTES / 1024} KB in total.`;
}

function beyond(path: string, by: string): string {
  return `${path} (included by ${by}) was not read: it is outside the project.`;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function isWithin(boundary: string, real: string): Promise<boolean> {
  const project = await realpath(boundary).catch(() => boundary);
  return real.startsWith(project.endsWith(sep) ? project : `${project}${sep}`);
}

/**
 * A project is read before anybody trusts it, and what is read goes to the provider: a link of its own must not carry
 * a private key there. Links to shared instructions elsewhere are common, and those are Markdown.
 */
async function leadsAstray(real: string, boundary: string): Promise<boolean> {
  return !(await isWithin(boundary, real)) && extname(real).toLowerCase() !== ".md";
}

function strayLink(path: string, real: string): ProjectInstruction {
  const problem = `${path} was not read: it links to ${real}, which is outside the project and not a Markdown file.`;
  return { path, text: "", problem };
}

/** Users by their numbers; undefined for everybody. */
type Owners = ReadonlySet<number> | undefined;

/**
 * Owners of the readable files in a folder. A repository whose owner is not that of the working folder (`/tmp/.git`) is
 * not the project.
 */
async function fileOwners(place: {
  cwd: string;
  outermost: string;
  isRepository: boolean;
  uid: number | undefined;
}): Promise<(folder: string) => Owners> {
  const { cwd, outermost, isRepository, uid } = place;
  if (uid === undefined) return () => undefined;
  const trusted = new Set([uid, 0]);
  const own = await stat(cwd).catch(() => undefined);
  const inProject = own === undefined ? trusted : new Set([...trusted, own.uid]);
  const root = isRepository ? await stat(outermost).catch(() => undefined) : undefined;
  const isProject = (folder: string) => folder === cwd || (root !== undefined && inProject.has(root.uid));
  return (folder) => (isProject(folder) ? inProject : trusted);
}

/** Why a file is not read whose link, folder or text somebody else can have made. */
function foreign(path: string, parts: readonly Stats[], owners: ReadonlySet<number>): string | undefined {
  const owner = parts.find(({ uid }) => !owners.has(uid))?.uid;
  if (owner === undefined) return undefined;
  return `${path} was not read: the file, its folder or its link target belongs to another user (uid ${owner}). It must belong to you or root.`;
}

/** Outermost first. */
async function foldersDownTo(cwd: string): Promise<string[]> {
  const folders = [cwd];
  const userHome = homedir();
  for (
    let at = cwd;
    !(await isPresent(join(at, ".git"))) && at !== userHome && at !== dirname(at);
    at = dirname(at)
  ) {
    folders.unshift(dirname(at));
  }
  return folders;
}

/** Returns the first file that has text or cannot be read, else the first existing file. */
async function firstWithText(paths: readonly string[]): Promise<string | undefined> {
  let empty: string | undefined;
  for (const path of paths) {
    if (!(await isPresent(path))) continue;
    if (!(await isBlank(path))) return path;
    empty ??= path;
  }
  return empty;
}

async function isBlank(path: string): Promise<boolean> {
  return firstPart(path).then(
    ({ bytes, isWhole }) => isWhole && textOf(bytes) === "",
    () => false,
  );
}

/** True also without permission to look: reading the file then fails with the reason. */
async function isPresent(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => errorCode(error) !== "ENOENT" && errorCode(error) !== "ENOTDIR",
  );
}

async function readInstruction(path: string, owners: Owners): Promise<ProjectInstruction> {
  try {
    const { bytes, isWhole, stats } = await firstPart(path);
    const places = owners === undefined ? [] : [stats, await lstat(path), await stat(dirname(path))];
    const problem = foreign(path, places, owners ?? new Set());
    if (problem !== undefined) return { path, text: "", problem };
    const text = textOf(bytes);
    if (text === undefined) throw new Error("it is not a text file.");
    if (isWhole) return { path, text };
    const limit = `${MAX_INSTRUCTION_BYTES / 1024} KB`;
    return {
      path,
      text: `${text}\n[Cut after ${limit}. Read the file for the rest.]`,
      problem: `${path} is longer than ${limit}. The system prompt contains only the beginning.`,
    };
  } catch (error) {
    return { path, text: "", problem: `Cannot read ${path}: ${(error as Error).message}` };
  }
}

/** Decodes UTF-8 or UTF-16. Returns undefined for binary data. */
function textOf(bytes: Buffer): string | undefined {
  const { encoding } = formatOfBom(bytes) ?? unmarkedUtf16(bytes) ?? { encoding: "utf-8" };
  if (encoding === "utf-8" && bytes.includes(0)) return undefined;
  const first = encoding === "utf-8" ? firstBytes(bytes, MAX_INSTRUCTION_BYTES) : bytes;
  return new TextDecoder(encoding).decode(first).trim();
}

async function firstPart(path: string): Promise<{ bytes: Buffer; isWhole: boolean; stats: Stats }> {
  // Without waiting: a pipe must not hold up the start.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    // Use the opened file: its name may lead to another file by now.
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error("it is not a regular file.");
    const size = MAX_INSTRUCTION_BYTES + 1;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
    return { bytes: buffer.subarray(0, bytesRead), isWhole: bytesRead < size, stats };
  } finally {
    await handle.close();
  }
}
