import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, extname, join, resolve, sep } from "node:path";
import { errorCode } from "./tools/file-problem.ts";
import { firstBytes } from "./tools/text-limits.ts";

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
  /** In each folder the first of these that exists is read. */
  fileNames: readonly string[];
}

/**
 * Instruction files for work in a folder, the most general first: Bonsai's own, then those of the folders from the root
 * of the repository (or the user's home folder, where there is none) down to this one. Never rejects: what cannot be
 * read says so in `problem`.
 */
export async function projectInstructions({
  cwd,
  home,
  fileNames,
}: ProjectInstructionsOptions): Promise<ProjectInstruction[]> {
  const instructions: ProjectInstruction[] = [];
  const seen = new Set<string>();
  const projectFolders = await foldersDownTo(resolve(cwd));
  const outermost = projectFolders[0]!;
  const isRepository = await isPresent(join(outermost, ".git"));
  for (const folder of [home, ...projectFolders]) {
    const path = await firstPresent(folder, fileNames);
    const real = path && (await realpath(path).catch(() => path));
    if (path === undefined || real === undefined || seen.has(real)) continue;
    seen.add(real);
    const isStray = folder !== home && (await leadsAstray(real, isRepository ? outermost : folder));
    instructions.push(isStray ? strayLink(path, real) : await readInstruction(path));
  }
  return instructions;
}

/**
 * A project is read before anybody trusts it, and what is read goes to the provider: a link of its own must not carry
 * a private key there. Links to shared instructions elsewhere are common, and those are Markdown.
 */
async function leadsAstray(real: string, boundary: string): Promise<boolean> {
  const project = await realpath(boundary).catch(() => boundary);
  const isInside = real.startsWith(project.endsWith(sep) ? project : `${project}${sep}`);
  return !isInside && extname(real).toLowerCase() !== ".md";
}

function strayLink(path: string, real: string): ProjectInstruction {
  const problem = `${path} was not read: it is a link out of the project, to ${real}, which is no Markdown file.`;
  return { path, text: "", problem };
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

async function firstPresent(folder: string, fileNames: readonly string[]): Promise<string | undefined> {
  for (const name of fileNames) {
    const path = join(folder, name);
    if (await isPresent(path)) return path;
  }
  return undefined;
}

/** What may not even be looked at is present: reading it tells why it cannot be had. */
async function isPresent(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => errorCode(error) !== "ENOENT" && errorCode(error) !== "ENOTDIR",
  );
}

async function readInstruction(path: string): Promise<ProjectInstruction> {
  try {
    const { bytes, isWhole } = await firstPart(path);
    if (bytes.includes(0)) throw new Error("it is no text.");
    const text = new TextDecoder().decode(firstBytes(bytes, MAX_INSTRUCTION_BYTES)).trim();
    if (isWhole) return { path, text };
    const limit = `${MAX_INSTRUCTION_BYTES / 1024} KB`;
    return {
      path,
      text: `${text}\n[Cut after ${limit}. Read the file for the rest.]`,
      problem: `${path} is longer than ${limit}; the rest is not in the system prompt.`,
    };
  } catch (error) {
    return { path, text: "", problem: `${path} could not be read: ${(error as Error).message}` };
  }
}

async function firstPart(path: string): Promise<{ bytes: Buffer; isWhole: boolean }> {
  // Without waiting: a pipe must not hold up the start.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await handle.stat()).isFile()) throw new Error("it is no regular file.");
    const size = MAX_INSTRUCTION_BYTES + 1;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
    return { bytes: buffer.subarray(0, bytesRead), isWhole: bytesRead < size };
  } finally {
    await handle.close();
  }
}
