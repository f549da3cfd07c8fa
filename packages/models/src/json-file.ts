import { readFileSync } from "node:fs";

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

/** Parses JSON with comments and with commas at the end of lists. */
export function parseJson(text: string): unknown {
  const kept = (pattern: RegExp) => (from: string) =>
    from.replaceAll(pattern, (_, quoted: string | undefined) => quoted ?? "");
  const withoutComments = kept(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g)(text);
  return JSON.parse(kept(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g)(withoutComments));
}
