import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isNpmName } from "./package-records.ts";

/** What is used of a `package.json`; what is no such thing there is left out. */
export interface PackageManifest {
  /** A name that npm could have. */
  name?: string;
  /** Can be part of a folder's name. */
  version?: string;
}

/** Of a folder without a `package.json`, and of one that cannot be read, nothing is known. */
export function packageManifest(folder: string): PackageManifest {
  const { name, version } = fields(join(folder, "package.json"));
  return {
    ...(typeof name === "string" && isNpmName(name) ? { name } : {}),
    ...(typeof version === "string" && /^\d[\w.+-]*$/.test(version) ? { version } : {}),
  };
}

function fields(file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8").replace(/^\ufeff/, ""));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof SyntaxError || code === "ENOENT" || code === "ENOTDIR") return {};
    throw error;
  }
}
