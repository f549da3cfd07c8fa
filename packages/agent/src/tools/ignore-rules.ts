import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { GlobPattern } from "./glob-matcher.ts";

/** The later stands above the earlier, as in ripgrep. */
const ruleFiles = [".gitignore", ".ignore"];
/** No list that somebody wrote is longer. */
const MAX_RULES_BYTES = 1 << 20;
/** No path is longer: such a line is not about one. */
const MAX_RULE_CHARS = 1_000;

/** One line of an ignore file. */
interface Rule {
  pattern: GlobPattern;
  /** Taken back again: the line begins with `!`. */
  isException: boolean;
  isForFolders: boolean;
  /** The line has no slash: it is about names at any depth. */
  isNameOnly: boolean;
}

/** The rules of one folder. */
interface Layer {
  folder: string;
  rules: readonly Rule[];
}

/** The rules that hold in a folder: those of the folders above, then its own. */
export type IgnoreRules = readonly Layer[];

/** The rules that a search beginning in this folder finds above it, up to the root of the repository. */
export async function rulesAbove(folder: string): Promise<IgnoreRules> {
  const folders: string[] = [];
  let root = folder;
  while (!(await exists(join(root, ".git"))) && root !== dirname(root)) {
    root = dirname(root);
    folders.unshift(root);
  }
  let rules: IgnoreRules = await layerOf(root, [join(".git", "info", "exclude")]);
  // Who searches an ignored folder by name wants to see what is in it, and in the folders below it.
  for (const [at, above] of folders.entries()) {
    rules = await rulesIn(above, rules);
    if (isIgnored({ path: folders[at + 1] ?? folder, isFolder: true, rules })) return [];
  }
  return rules;
}

export async function rulesIn(folder: string, above: IgnoreRules): Promise<IgnoreRules> {
  return [...above, ...(await layerOf(folder, ruleFiles))];
}

/** Whether an entry of a folder that is not ignored is: the innermost folder with something to say decides. */
export function isIgnored({
  path,
  isFolder,
  rules,
}: {
  path: string;
  isFolder: boolean;
  rules: IgnoreRules;
}): boolean {
  const name = path.slice(path.lastIndexOf(sep) + 1);
  for (const layer of rules.toReversed()) {
    const way = relative(layer.folder, path).split(sep).join("/");
    if (way === "" || way.startsWith("..")) continue;
    const last = layer.rules.findLast(
      (rule) => (isFolder || !rule.isForFolders) && rule.pattern.matches(rule.isNameOnly ? name : way),
    );
    if (last !== undefined) return !last.isException;
  }
  return false;
}

async function layerOf(folder: string, files: readonly string[]): Promise<Layer[]> {
  const texts = await Promise.all(files.map((file) => ruleText(join(folder, file)).catch(() => "")));
  const rules = texts.flatMap((text) => text.split("\n").flatMap(ruleOf));
  return rules.length === 0 ? [] : [{ folder, rules }];
}

/** Without waiting: what is no regular file, a pipe for one, has no rules. */
async function ruleText(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await handle.stat()).isFile()) return "";
    const { buffer, bytesRead } = await handle.read(
      Buffer.allocUnsafe(MAX_RULES_BYTES),
      0,
      MAX_RULES_BYTES,
      0,
    );
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** As git reads a line: spaces at its end count where a backslash stands before them. */
function ruleOf(line: string): Rule[] {
  const text = trimmedEnd(line.replace(/^\uFEFF/, ""));
  if (text === "" || text.startsWith("#")) return [];
  const isException = text.startsWith("!");
  const said = isException ? text.slice(1) : text;
  const isForFolders = said.endsWith("/");
  const path = isForFolders ? said.slice(0, -1) : said;
  if (path === "" || path.length > MAX_RULE_CHARS) return [];
  const pattern = new GlobPattern(path.replace(/^\//, ""), { braces: false });
  return [{ pattern, isException, isForFolders, isNameOnly: !path.includes("/") }];
}

function trimmedEnd(line: string): string {
  let end = line.endsWith("\r") ? line.length - 1 : line.length;
  while (end > 0 && (line[end - 1] === " " || line[end - 1] === "\t") && line[end - 2] !== "\\") end -= 1;
  return line.slice(0, end);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
