import { readFileSync } from "node:fs";

/** A module name of pi in quotes, as an import or a `require` has it; a comment that has one does no harm. */
const piImport = /["'](?:@earendil-works|@mariozechner)\/pi-[a-z-]+/;
/** What pi's documents call the API. */
const piParameter = /\bexport\s+default\b[^;{]*\(\s*pi\s*[:,)]/;
const ownImport = /["']@bonsai-agent\/extension["']/;

/**
 * True where the entry module names a package of pi, or calls the API `pi`, and names no package of ours. A few shapes mean different things here and
 * there (streamed events, the files of a compaction); extensions get those that they were written for.
 */
export function writtenForPi(path: string): boolean {
  const text = textOf(path);
  return (piImport.test(text) || piParameter.test(text)) && !ownImport.test(text);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Whoever loads the module says why it cannot be read.
    return "";
  }
}
