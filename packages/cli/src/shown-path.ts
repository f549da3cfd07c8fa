import { homedir } from "node:os";
import { relative, sep } from "node:path";

/** A path as people read it: from the working folder where it lies in it, else from their home. */
export function shownPath(path: string, cwd: string): string {
  const fromCwd = relative(cwd, path);
  if (fromCwd !== "" && !fromCwd.startsWith("..")) return fromCwd;
  const home = homedir();
  return home !== "" && path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}
