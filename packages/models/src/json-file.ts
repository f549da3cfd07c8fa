import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { discard } from "./file-lock.ts";

/** The text of a file, without a byte-order mark; undefined for a missing file. Throws other system errors. */
export function textFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    // ENOTDIR: a parent is a file.
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * Writes a file whole or not at all, readable by its owner only. Follows a link and makes the folder. Throws system errors;
 * then the file is as before.
 */
export function writeWholeFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const target = existsSync(path) ? realpathSync(path) : path;
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    writeFileSync(temporary, text, { flag: "wx", mode: 0o600, flush: true });
    renameSync(temporary, target);
  } catch (error) {
    discard(temporary);
    throw error;
  }
}

/** Parses JSON with comments and with commas at the end of lists. */
export function parseJson(text: string): unknown {
  const kept = (pattern: RegExp) => (from: string) =>
    from.replaceAll(pattern, (_, quoted: string | undefined) => quoted ?? "");
  const withoutComments = kept(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g)(text);
  return JSON.parse(kept(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g)(withoutComments));
}
