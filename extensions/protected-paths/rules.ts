import { homedir } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { globMatcher } from "@bonsai-agent/extension";

/** Resolves a path with `~` and `file:`, as tools do. */
export function absolutePath(cwd: string, path: string): string {
  if (path.startsWith("file://")) return fileURLToPath(path);
  return resolve(cwd, path.replace(/^~(?=$|[\\/])/, homedir()));
}

/** One line of a rule file, in the notation of `.gitignore`. */
export interface Rule {
  text: string;
  /** True if the rule frees paths that earlier rules protect. */
  isException: boolean;
  /** The start of matching paths: anywhere, the working folder, or the root of the file system. */
  from: "anywhere" | "folder" | "root";
  /** Matches a path with `/`, and everything below a matching path. */
  isFor: (path: string) => boolean;
  /** True for derived files: a folder that contains them may be deleted as a whole. */
  isDerived: boolean;
}

/**
 * Reads rules: `name` and `*.ext` anywhere, `folder/` with everything in it, `a/b` and `/a` from the working folder, `~/a`
 * from home, `!` for an exception, `#` for a comment; `*`, `?`, `**`, `[abc]`. Ignores case.
 */
export function parseRules(
  lines: readonly string[],
  { isDerived = false, from }: Partial<Pick<Rule, "isDerived" | "from">> = {},
): Rule[] {
  return lines
    .map((line) => line.trim().replaceAll("\\", "/"))
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((text) => {
      const isException = text.startsWith("!");
      const path = (isException ? text.slice(1) : text).replace(/^~(?=\/)/, homedir().replaceAll("\\", "/"));
      const bare = path.replace(/\/+$/, "");
      const isFor = pathMatcher(bare.replace(/^\/+/, ""));
      return { text, isException, from: from ?? beginOf(bare), isFor, isDerived };
    });
}

function beginOf(path: string): Rule["from"] {
  if (isSystemPath(path) || /^[a-z]:\//i.test(path)) return "root";
  return path.includes("/") ? "folder" : "anywhere";
}

/** `/a/b` starts in the working folder, as in `.gitignore`, unless it is a path of the user's home or of the system. */
function isSystemPath(path: string): boolean {
  return (
    path.startsWith(homedir().replaceAll("\\", "/")) ||
    /^\/(?:etc|usr|var|home|Users|root|opt|tmp|private)\//.test(path)
  );
}

/** The matcher takes linear time, because the model chooses the paths. */
export function pathMatcher(glob: string): (path: string) => boolean {
  // As in .gitignore, braces are plain characters.
  const isMatch = globMatcher(`./${glob.toLowerCase().replaceAll(/[{}]/g, "\\$&")}`);
  return (path) => {
    const parts = path.toLowerCase().split("/");
    return parts.some((_, at) => isMatch(parts.slice(0, at + 1).join("/")));
  };
}

/** Returns the rule that protects a path. `inFolder` is relative to the working folder; undefined outside of it. */
export function ruleFor(
  rules: readonly Rule[],
  paths: { inFolder: string | undefined; absolute: string },
): Rule | undefined {
  const last = rules.findLast(({ from, isFor }) => {
    if (from === "root") return isFor(paths.absolute.replace(/^\/+/, ""));
    if (from === "folder") return paths.inFolder !== undefined && isFor(paths.inFolder);
    // Folders above the working folder do not count: a project can be in a folder of any name.
    const parts = paths.inFolder?.split("/") ?? paths.absolute.split("/");
    return parts.some((part) => isFor(part));
  });
  return last?.isException === true ? undefined : last;
}
