import { posix } from "node:path";
import picomatch from "picomatch";

/**
 * Whether a path, relative with `/`, is meant by a glob. As in .gitignore, one without a slash is for the name at any
 * depth; a leading `!` means all others.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const isNegated = glob.startsWith("!");
  const pattern = glob.replace(/^!/, "").replace(/^\.?\//, "");
  const isMatch = picomatch(pattern, { dot: true, nonegate: true });
  const isNameOnly = !glob.includes("/");
  return (path) => isMatch(isNameOnly ? posix.basename(path) : path) !== isNegated;
}
