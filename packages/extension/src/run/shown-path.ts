import { homedir } from "node:os";
import { isAbsolute, sep } from "node:path";

/** A path as people read it: from the working folder, where it lies in it, else from home. */
export function shownPath(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  if (path.startsWith(cwd + sep)) return path.slice(cwd.length + 1);
  const home = homedir();
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}

/** The name, with a number where it is taken: two of one name would be unloaded together. */
export function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let count = 2; taken.includes(free); count += 1) free = `${name} (${count})`;
  return free;
}
