import { homedir } from "node:os";
import { isAbsolute, relative, sep } from "node:path";

/** A path as people read it: from the working folder or from home, where that is shorter. */
export function shownPath(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  const home = homedir();
  const fromHome = path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
  const fromCwd = relative(cwd, path);
  return [fromHome, fromCwd].reduce((best, next) => (next.length < best.length ? next : best), path);
}
