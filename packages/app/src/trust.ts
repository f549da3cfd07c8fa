import { mkdirSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { BonsaiError, jsonText } from "@bonsai-agent/messages";
import { readJsonFile } from "./json-file.ts";

/** The file with the folders whose own settings and code may be used. */
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

/** Trusts a folder; false where it was trusted already. */
export function trustFolder(folder: string, home: string): boolean {
  const real = realFolder(folder);
  const { folders, refused } = readTrust(home);
  if (folders.includes(real)) return false;
  writeTrust(home, {
    folders: [...folders, real].toSorted(),
    refused: refused.filter((each) => each !== real),
  });
  return true;
}

/** Remembers that the user does not trust that very folder and need not be asked again. */
export function refuseFolder(folder: string, home: string): void {
  const real = realFolder(folder);
  const { folders, refused } = readTrust(home);
  if (!refused.includes(real)) writeTrust(home, { folders, refused: [...refused, real].toSorted() });
}

/** True where the user refused to trust this very folder. */
export function isRefused(folder: string, home: string): boolean {
  return readTrust(home).refused.includes(realFolder(folder));
}

/** Takes the trust back; false where that very folder was not trusted. */
export function untrustFolder(folder: string, home: string): boolean {
  const { folders: before, refused } = readTrust(home);
  // A folder that is gone can still be in the list.
  const names = new Set([folder, statSync(folder, { throwIfNoEntry: false }) ? realFolder(folder) : folder]);
  const after = before.filter((trusted) => !names.has(trusted));
  if (after.length === before.length) return false;
  writeTrust(home, { folders: after, refused });
  return true;
}

interface Trust {
  folders: readonly string[];
  /** Refused by the user, who is not asked again. */
  refused: readonly string[];
}

function readTrust(home: string): Trust {
  const file = trustFile(home);
  const value = readJsonFile(file);
  if (value === undefined) return { folders: [], refused: [] };
  const { folders, refused = [] } = (value ?? {}) as { folders?: unknown; refused?: unknown };
  return { folders: folderList(file, "folders", folders), refused: folderList(file, "refused", refused) };
}

function folderList(file: string, key: keyof Trust, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((folder) => typeof folder === "string")) return value;
  throw new BonsaiError({
    code: "settings_invalid",
    message: `${file}: ${key} is ${jsonText(value) || "nothing"}; allowed is a list of folders.`,
    hint: 'Write it as {"folders": ["/home/me/project"]}, or move the file away.',
  });
}

/** Whole or not at all: half a list would take trust away. */
function writeTrust(home: string, { folders, refused }: Trust): void {
  const file = trustFile(home);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  const value = refused.length === 0 ? { folders } : { folders, refused };
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
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
