import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** From `folder`, or for `~/` from the user's home: where no shell read a path, the `~` is still in it. */
export function absolutePath(path: string, folder: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(folder, path);
}
