import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";

/** The later stands above the earlier, as in ripgrep. */
const ruleFiles = [".gitignore", ".ignore"];

/** The rules of one folder. */
interface Layer {
  folder: string;
  rules: Ignore;
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
  for (const above of folders) rules = await rulesIn(above, rules);
  // Who searches an ignored folder by name wants to see what is in it.
  return isIgnored({ path: folder, isFolder: true, rules }) ? [] : rules;
}

export async function rulesIn(folder: string, above: IgnoreRules): Promise<IgnoreRules> {
  return [...above, ...(await layerOf(folder, ruleFiles))];
}

/** The innermost folder with something to say decides. */
export function isIgnored({
  path,
  isFolder,
  rules,
}: {
  path: string;
  isFolder: boolean;
  rules: IgnoreRules;
}): boolean {
  for (const layer of rules.toReversed()) {
    const way = relative(layer.folder, path).split(sep).join("/");
    if (way === "" || way.startsWith("..")) continue;
    const { ignored, unignored } = layer.rules.test(isFolder ? `${way}/` : way);
    if (ignored || unignored) return ignored;
  }
  return false;
}

async function layerOf(folder: string, files: readonly string[]): Promise<Layer[]> {
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8").catch(() => "")));
  if (texts.every((text) => text === "")) return [];
  return [{ folder, rules: ignore().add(texts.join("\n")) }];
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
