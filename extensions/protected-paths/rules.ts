import { homedir } from "node:os";

/** One line of a list, in the notation of `.gitignore`. */
export interface Rule {
  text: string;
  /** What it frees is protected by none of the rules before it. */
  isException: boolean;
  /** Where it begins: anywhere, in the working folder, or at the root of the file system. */
  from: "anywhere" | "folder" | "root";
  /** Matches a path with `/`, and all that lies in it. */
  pattern: RegExp;
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
      const pattern = patternOf(bare.replace(/^\/+/, ""));
      return { text, isException, from: from ?? beginOf(bare), pattern, isDerived };
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

export function patternOf(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/|\*\*|\*|\?|\[!?[^\]/]+\]|[.+^$|(){}[\]\\]/g, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    return part.startsWith("[") && part.length > 2 ? part.replace("[!", "[^") : `\\${part}`;
  });
  return new RegExp(`^${source}(?:/|$)`, "i");
}

/** The rule by which a path is protected. `paths`: relative to the working folder (absent outside of it), and absolute. */
export function ruleFor(
  rules: readonly Rule[],
  paths: { inFolder: string | undefined; absolute: string },
): Rule | undefined {
  const last = rules.findLast(({ from, pattern }) => {
    if (from === "root") return pattern.test(paths.absolute.replace(/^\/+/, ""));
    if (from === "folder") return paths.inFolder !== undefined && pattern.test(paths.inFolder);
    // Above the working folder, names say nothing: a project may lie in a folder of any name.
    const parts = paths.inFolder?.split("/") ?? paths.absolute.split("/");
    return parts.some((part) => pattern.test(part));
  });
  return last?.isException === true ? undefined : last;
}
