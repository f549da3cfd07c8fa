import { homedir } from "node:os";
import { globMatcher } from "@bonsai-agent/extension";

/** One line of a list, in the notation of `.gitignore`. */
export interface Rule {
  text: string;
  /** What it frees is protected by none of the rules before it. */
  isException: boolean;
  /** Where it begins: anywhere, in the working folder, or at the root of the file system. */
  from: "anywhere" | "folder" | "root";
  /** Whether a path with `/` is meant, or lies in one that is. */
  isFor: (path: string) => boolean;
  /** What can be made anew: a folder that holds it may be deleted as a whole. */
  isDerived: boolean;
}

/**
 * `name` and `*.ext` anywhere, `folder/` with all that is in it, `a/b` and `/a` from the working folder, `~/a` from home,
 * `!` for an exception, `#` for a comment; `*`, `?`, `**`, `[abc]`. Upper and lower case are the same.
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
      const said = (isException ? text.slice(1) : text).replace(/^~(?=\/)/, homedir().replaceAll("\\", "/"));
      const bare = said.replace(/\/+$/, "");
      const isFor = pathMatcher(bare.replace(/^\/+/, ""));
      return { text, isException, from: from ?? beginOf(bare), isFor, isDerived };
    });
}

function beginOf(path: string): Rule["from"] {
  if (isSystemPath(path) || /^[a-z]:\//i.test(path)) return "root";
  return path.includes("/") ? "folder" : "anywhere";
}

/** `/a/b` is of the working folder, as in `.gitignore`, unless it is in the user's home or named in full. */
function isSystemPath(path: string): boolean {
  return (
    path.startsWith(homedir().replaceAll("\\", "/")) ||
    /^\/(?:etc|usr|var|home|Users|root|opt|tmp|private)\//.test(path)
  );
}

/** Takes time by the length of path and glob, whatever the model makes of the path. */
export function pathMatcher(glob: string): (path: string) => boolean {
  // A brace is one here, as in .gitignore.
  const isMatch = globMatcher(`./${glob.toLowerCase().replaceAll(/[{}]/g, "\\$&")}`);
  return (path) => {
    const parts = path.toLowerCase().split("/");
    return parts.some((_, at) => isMatch(parts.slice(0, at + 1).join("/")));
  };
}

/** The rule by which a path is protected. `paths`: relative to the working folder (absent outside of it), and absolute. */
export function ruleFor(
  rules: readonly Rule[],
  paths: { inFolder: string | undefined; absolute: string },
): Rule | undefined {
  const last = rules.findLast(({ from, isFor }) => {
    if (from === "root") return isFor(paths.absolute.replace(/^\/+/, ""));
    if (from === "folder") return paths.inFolder !== undefined && isFor(paths.inFolder);
    // Above the working folder, names say nothing: a project may lie in a folder of any name.
    const parts = paths.inFolder?.split("/") ?? paths.absolute.split("/");
    return parts.some((part) => isFor(part));
  });
  return last?.isException === true ? undefined : last;
}
