import { homedir } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** With `~` and `file:` as tools understand them. */
export function absolutePath(cwd: string, path: string): string {
  if (path.startsWith("file://")) return fileURLToPath(path);
  return resolve(cwd, path.replace(/^~(?=$|[\\/])/, homedir()));
}
