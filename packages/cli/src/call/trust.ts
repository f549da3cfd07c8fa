import { realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { BonsaiError, isRecord, jsonText } from "@bonsai-agent/messages";
import { writeWholeFile } from "@bonsai-agent/models/host";
import type { Invocation } from "./invocation.ts";
import { readJsonFile } from "./json-file.ts";

/** The file with the folders whose own settings and code may be used, and with what tools may touch beyond a project. */
function trustFile(home: string): string {
  return join(home, "trust.json");
}

/** True for a trusted folder and everything in it. */
export function isTrusted(folder: string, home: string): boolean {
  const real = realFolder(folder);
  return readTrust(home).folders.some(
    (trusted) => real === trusted || real.startsWith(withSeparator(trusted)),
  );
}

/** True if the working folder is trusted, or `--approve` trusts it for this run. */
export function isProjectTrusted({ io, options }: Pick<Invocation, "io" | "options">, home: string): boolean {
  return options.approve === true || isTrusted(io.cwd, home);
}

/** Trusts a folder; false where it was trusted already. */
export function trustFolder(folder: string, home: string): boolean {
  const real = realFolder(folder);
  const trust = readTrust(home);
  if (trust.folders.includes(real)) return false;
  writeTrust(home, {
    ...trust,
    folders: [...trust.folders, real].toSorted(),
    refused: trust.refused.filter((each) => each !== real),
  });
  return true;
}

/** Remembers that the user does not trust that very folder and need not be asked again. */
export function refuseFolder(folder: string, home: string): void {
  const real = realFolder(folder);
  const trust = readTrust(home);
  if (trust.refused.includes(real)) return;
  writeTrust(home, { ...trust, refused: [...trust.refused, real].toSorted() });
}

/** True where the user refused to trust this very folder. */
export function isRefused(folder: string, home: string): boolean {
  return readTrust(home).refused.includes(realFolder(folder));
}

/** Takes the trust back, and what was granted to that very folder or in it; false where neither was. */
export function untrustFolder(folder: string, home: string): boolean {
  const before = readTrust(home);
  // A folder that is gone can still be in the list.
  const names = new Set([folder, statSync(folder, { throwIfNoEntry: false }) ? realFolder(folder) : folder]);
  const after = {
    ...before,
    folders: before.folders.filter((trusted) => !names.has(trusted)),
    paths: before.paths.filter((grant) => !names.has(grant.project) && !names.has(grant.folder)),
  };
  if (after.folders.length === before.folders.length && after.paths.length === before.paths.length)
    return false;
  writeTrust(home, after);
  return true;
}

/** What the user lets the tools of a project touch beyond it, for good. */
export interface PathGrant {
  /** The project's folder. Absolute, symbolic links resolved when it was granted, as is the other. */
  project: string;
  /** With all that is in it. */
  folder: string;
  /** Who may write may read. */
  access: "read" | "write";
}

/** What is granted to a project. */
export function pathGrants(project: string, home: string): readonly PathGrant[] {
  const real = realFolder(project);
  return readTrust(home).paths.filter((grant) => grant.project === real);
}

/** Grants a folder to a project; a grant to write takes the place of one to read. */
export function grantPath({ project, folder, access }: PathGrant, home: string): void {
  const trust = readTrust(home);
  const grant = { project: realFolder(project), folder, access };
  const isSame = (each: PathGrant) => each.project === grant.project && each.folder === folder;
  if (trust.paths.some((each) => isSame(each) && (each.access === "write" || access === "read"))) return;
  writeTrust(home, { ...trust, paths: [...trust.paths.filter((each) => !isSame(each)), grant] });
}

/** Takes a grant back. */
export function takeBackPath({ project, folder }: PathGrant, home: string): void {
  const trust = readTrust(home);
  const paths = trust.paths.filter((each) => each.project !== project || each.folder !== folder);
  if (paths.length < trust.paths.length) writeTrust(home, { ...trust, paths });
}

interface Trust {
  folders: readonly string[];
  /** Refused by the user, who is not asked again. */
  refused: readonly string[];
  paths: readonly PathGrant[];
}

function readTrust(home: string): Trust {
  const file = trustFile(home);
  const value = readJsonFile(file);
  if (value === undefined) return { folders: [], refused: [], paths: [] };
  const { folders, refused = [], paths = [] } = (value ?? {}) as Record<keyof Trust, unknown>;
  return {
    folders: folderList(file, "folders", folders),
    refused: folderList(file, "refused", refused),
    paths: grantList(file, paths),
  };
}

function folderList(file: string, key: keyof Trust, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((folder) => typeof folder === "string")) return value;
  throw wrongTrust(file, key, value, "a list of folders");
}

function grantList(file: string, value: unknown): readonly PathGrant[] {
  if (Array.isArray(value) && value.every(isGrant)) return value;
  throw wrongTrust(file, "paths", value, 'a list of {"project", "folder", "access": "read" or "write"}');
}

function isGrant(value: unknown): value is PathGrant {
  if (!isRecord(value)) return false;
  const { project, folder, access } = value;
  return (
    typeof project === "string" && typeof folder === "string" && (access === "read" || access === "write")
  );
}

function wrongTrust(file: string, key: keyof Trust, value: unknown, allowed: string): BonsaiError {
  return new BonsaiError({
    code: "settings_invalid",
    message: `${file}: ${key} is ${jsonText(value) || "missing"}, but must be ${allowed}.`,
    hint: 'Write it as {"folders": ["/home/me/project"]}, or move the file away.',
  });
}

function writeTrust(home: string, { folders, refused, paths }: Trust): void {
  const value = {
    folders,
    ...(refused.length > 0 && { refused }),
    ...(paths.length > 0 && { paths }),
  };
  writeWholeFile(trustFile(home), `${JSON.stringify(value, null, 2)}\n`);
}

function realFolder(folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(folder);
  throw new BonsaiError({
    code: "folder_not_found",
    message: `${folder} is not a folder.`,
    hint: "Give an existing folder, or omit it to use the current folder.",
  });
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : `${folder}${sep}`;
}
