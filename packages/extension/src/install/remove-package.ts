import { readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  deleteRecord,
  type InstalledPackage,
  installedPackage,
  type PackageRecord,
  readRecords,
  versionsFolder,
} from "./package-records.ts";

export interface RemovePackageOptions {
  /** Bonsai's home folder. */
  home: string;
  /** The name, with or without `npm:`, or the path that was installed. */
  package: string;
  /** Absolute: where relative paths start. */
  cwd: string;
  /** Default `Date.now`. */
  now?: () => number;
}

/**
 * Removes a package, and its copy where it has one. Folders and modules that are used where they lie stay there.
 * @throws BonsaiError `package_not_installed`
 */
export function removePackage(options: RemovePackageOptions): InstalledPackage {
  const { home, now = Date.now } = options;
  const { records } = readRecords(home);
  const record = recordMeant(records, options);
  if (record === undefined) throw notInstalled(options.package, records);
  removeInstalled(home, record, now());
  return installedPackage(home, record);
}

function recordMeant(
  records: readonly PackageRecord[],
  { package: asked, cwd }: RemovePackageOptions,
): PackageRecord | undefined {
  const path = resolve(cwd, asked);
  const name = asked.replace(/^npm:/, "").replace(/(?<=.)@.*$/, "");
  return (
    records.find((record) => record.name === asked || record.name === name) ??
    records.find((record) => record.source === path)
  );
}

/** The record goes first: nobody loads what is half gone. */
export function removeInstalled(home: string, record: PackageRecord, nowMs: number): void {
  deleteRecord(home, record.name);
  removeCopy(home, record);
  const versions = versionsFolder(home, record.name);
  removeLeftovers(versions, () => true, nowMs);
  removeIfEmpty(versions);
}

/** The files that a record speaks of. What another installation is about to record stays. */
export function removeCopy(home: string, { name, copy }: PackageRecord): void {
  if (copy === undefined) return;
  rmSync(join(versionsFolder(home, name), copy), { recursive: true, force: true });
}

function notInstalled(asked: string, records: readonly PackageRecord[]): BonsaiError {
  const names = records.map(({ name }) => name);
  return new BonsaiError({
    code: "package_not_installed",
    message: `No package ${JSON.stringify(asked)} is installed.`,
    hint: names.length === 0 ? "No package is." : `These are: ${names.join(", ")}.`,
  });
}

/** No installation takes as long: what is older was left by one that was killed. */
const leftoverAgeMs = 86_400_000;

/** Takes away what killed installations left in a folder; what is young can be another one's that is at work. */
export function removeLeftovers(folder: string, isSuspect: (name: string) => boolean, nowMs: number): void {
  for (const name of namesIn(folder).filter(isSuspect)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: nowMs };
    if (nowMs - mtimeMs > leftoverAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
