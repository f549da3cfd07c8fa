import { mkdirSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { readJsonFile } from "./json-file.ts";

/** The file with the folders whose own settings and code may be used. */
export function trustFile(home: string): string {
  return join(home, "trust.json");
}

/** True for a trusted folder and everything in it. */
export function isTrusted(folder: string, home: string): boolean {
  const real = realFolder(folder);
  return trustedFolders(home).some((trusted) => real === trusted || real.startsWith(withSeparator(trusted)));
}

/** Trusts a folder; false where it was trusted already. */
export function trustFolder(folder: string, home: string): boolean {
  const real = realFolder(folder);
  const before = trustedFolders(home);
  if (before.includes(real)) return false;
  writeTrust(home, [...before, real].toSorted());
  return true;
}

/** Takes the trust back; false where that very folder was not trusted. */
export function untrustFolder(folder: string, home: string): boolean {
  const before = trustedFolders(home);
  // A folder that is gone can still be in the list.
  const names = new Set([folder, statSync(folder, { throwIfNoEntry: false }) ? realFolder(folder) : folder]);
  const after = before.filter((trusted) => !names.has(trusted));
  if (after.length === before.length) return false;
  writeTrust(home, after);
  return true;
}

function trustedFolders(home: string): readonly string[] {
  const file = trustFile(home);
  const value = readJsonFile(file);
  if (value === undefined) return [];
  const { folders } = (value ?? {}) as { folders?: unknown };
  if (Array.isArray(folders) && folders.every((folder) => typeof folder === "string")) return folders;
  throw new BonsaiError({
    code: "settings_invalid",
    message: `${file}: folders is ${JSON.stringify(folders) ?? "nothing"}; allowed is a list of folders.`,
    hint: 'Write it as {"folders": ["/home/me/project"]}, or move the file away.',
  });
}

/** Whole or not at all: half a list would take trust away. */
function writeTrust(home: string, folders: readonly string[]): void {
  const file = trustFile(home);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify({ folders }, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

function realFolder(folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(folder);
  throw new BonsaiError({
    code: "folder_not_found",
    message: `${folder} is no folder.`,
    hint: "Name a folder that exists, or leave it out for this one.",
  });
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : `${folder}${sep}`;
}
