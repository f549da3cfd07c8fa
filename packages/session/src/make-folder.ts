import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it that are missing, private to the user. One by one: asked to make a whole
 * path below `/proc`, Node tries for ever.
 * @throws what the file system throws.
 */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  for (const each of missing.reverse()) makeOne(each);
}

/** Somebody else may have made it meanwhile. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
