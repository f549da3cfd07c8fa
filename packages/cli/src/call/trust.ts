import { realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { parseSettings } from "@bonsai-agent/messages/host";
import { writeWholeFile } from "@bonsai-agent/models/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { z } from "zod";
import type { Call } from "./invocation.ts";
import { readJsonFile } from "./json-file.ts";

const pathGrant = z.object({
  /** The project's folder. Absolute, symbolic links resolved, as is the granted folder. */
  project: z.string(),
  /** The grant covers everything in it. */
  folder: z.string(),
  /** "write" includes reading. */
  access: z.enum(["read", "write"]),
});

/** Permanent access of a project's tools to a folder outside the project. */
export type PathGrant = z.output<typeof pathGrant>;

/** `trust.json`: folders whose own settings and code may run, and permanent grants. */
const trustSchema = z.object({
  folders: z.array(z.string()),
  /** The user declined and is not asked again. */
  refused: z.array(z.string()).default([]),
  paths: z.array(pathGrant).default([]),
});

type Trust = z.output<typeof trustSchema>;

/** True for a trusted folder and everything in it. */
export function isTrusted(folder: string, home: string): boolean {
  const real = realFolder(folder);
  return readTrust(home).folders.some(
    (trusted) => real === trusted || real.startsWith(trusted.endsWith(sep) ? trusted : `${trusted}${sep}`),
  );
}

/** True if the working folder is trusted, or `--approve` trusts it for this run. */
export function isProjectTrusted({ io, options }: Call): boolean {
  return options.approve === true || isTrusted(io.cwd, bonsaiHome(io.env));
}

/** @returns false if it was trusted before */
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

export function declineTrust(folder: string, home: string): void {
  const real = realFolder(folder);
  const trust = readTrust(home);
  if (!trust.refused.includes(real))
    writeTrust(home, { ...trust, refused: [...trust.refused, real].toSorted() });
}

export function hasDeclinedTrust(folder: string, home: string): boolean {
  return readTrust(home).refused.includes(realFolder(folder));
}

/** Removes the trust in this folder, and its grants. @returns false if it had neither */
export function untrustFolder(folder: string, home: string): boolean {
  const before = readTrust(home);
  // A deleted folder can still be in the list.
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

export function pathGrants(project: string, home: string): readonly PathGrant[] {
  const real = realFolder(project);
  return readTrust(home).paths.filter((grant) => grant.project === real);
}

/** A grant to write replaces one to read. */
export function grantPath({ project, folder, access }: PathGrant, home: string): void {
  const trust = readTrust(home);
  const grant = { project: realFolder(project), folder, access };
  const isSame = (each: PathGrant) => each.project === grant.project && each.folder === folder;
  if (trust.paths.some((each) => isSame(each) && (each.access === "write" || access === "read"))) return;
  writeTrust(home, { ...trust, paths: [...trust.paths.filter((each) => !isSame(each)), grant] });
}

export function revokePath({ project, folder }: PathGrant, home: string): void {
  const trust = readTrust(home);
  const paths = trust.paths.filter((each) => each.project !== project || each.folder !== folder);
  writeTrust(home, { ...trust, paths });
}

function trustFile(home: string): string {
  return join(home, "trust.json");
}

function readTrust(home: string): Trust {
  const file = trustFile(home);
  const value = readJsonFile(file);
  return parseSettings(trustSchema, value === undefined ? { folders: [] } : value, {
    file,
    error: ({ message }) =>
      new BonsaiError({
        code: "settings_invalid",
        message,
        hint: 'Write it as {"folders": ["/home/me/project"]}, or move the file away.',
      }),
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
