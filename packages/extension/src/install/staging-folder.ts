import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeLeftovers } from "./leftovers.ts";
import { packagesFolder } from "./package-records.ts";

const prefix = ".staging-";
/** Owner of a folder in which a package is made ready. */
export interface StagingFolder {
  path: string;
  /** Gives the folder its place among the versions of its package. @returns its name there */
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

/**
 * No two installations ever get the same name, not even one after the other: whoever takes an old copy away, late, can
 * mean no other.
 */
function publish(path: string, versions: string, version: string): string {
  mkdirSync(versions, { recursive: true, mode: 0o700 });
  const name = `${version}-${randomBytes(4).toString("hex")}`;
  renameSync(path, join(versions, name));
  return name;
}
