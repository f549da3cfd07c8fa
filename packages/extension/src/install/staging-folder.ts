import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeLeftovers } from "./leftovers.ts";
import { packagesFolder } from "./package-records.ts";

const prefix = ".staging-";
/** Owner of a folder in which a package is made ready. */
export interface StagingFolder {
  path: string;
  /** Gives the folder its place, in a version's folder that nobody has yet. @returns that folder's name */
  publish(versions: string, version: string): string;
  /** Takes away what was not published. */
  discard(): void;
}

export function openStagingFolder(home: string, nowMs: number): StagingFolder {
  const packages = packagesFolder(home);
  mkdirSync(packages, { recursive: true, mode: 0o700 });
  removeLeftovers(packages, (name) => name.startsWith(prefix), nowMs);
  const path = mkdtempSync(join(packages, prefix));
  return {
    path,
    publish: (versions, version) => publish(path, versions, version),
    discard: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Each installation gets a folder of its own: one that is in use, by whomever, is never written into. */
function publish(path: string, versions: string, version: string): string {
  mkdirSync(versions, { recursive: true, mode: 0o700 });
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? version : `${version}-${count}`;
    if (!existsSync(join(versions, name)) && renamed(path, join(versions, name))) return name;
  }
}

/** False where another installation took the name in this moment. */
function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
}
