import { readFileSync } from "node:fs";

/** The text of a file, without a byte-order mark; undefined when there is no such file. Throws what the system says else. */
export function textFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    // ENOTDIR: what should be the folder is a file.
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Parses JSON that people write: with comments, and with commas at the end of lists. */
export function parseJson(text: string): unknown {
  const kept = (pattern: RegExp) => (from: string) =>
    from.replaceAll(pattern, (_, quoted: string | undefined) => quoted ?? "");
  const withoutComments = kept(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g)(text);
  return JSON.parse(kept(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g)(withoutComments));
}
