import { readFileSync } from "node:fs";

/** A module name of pi in quotes, as an import or a `require` has it; a comment that has one does no harm. */
const piImport = /["'](?:@earendil-works|@mariozechner)\/pi-[a-z-]+/;
const ownImport = /["']@bonsai-agent\/extension["']/;

/**
 * True where the entry module names a package of pi, and none of ours. A few shapes mean different things here and
 * there (streamed events, the files of a compaction); extensions get those that they were written for.
 */
export function writtenForPi(path: string): boolean {
  const text = textOf(path);
  return piImport.test(text) && !ownImport.test(text);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Whoever loads the module says why it cannot be read.
    return "";
  }
}
