import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { readRegularFile } from "../files/open-file.ts";
import { ignorePattern, type PathPattern } from "./globs.ts";

/** A larger search began in the wrong folder. */
const MAX_WALKED_ENTRIES = 300_000;
/** Longest time without handling keys and signals. */
const MAX_TURN_MS = 20;

interface WalkedEntry {
  /** Relative to the walked folder, with `/`. */
  path: string;
  kind: "file" | "folder" | "link" | "other";
}

/** Parts of the folder that a walk skipped. */
interface WalkGaps {
  unreadableFolders: number;
  isCut: boolean;
}

/** Lists everything below a folder by name, except `.git` and ignored entries. Does not follow links. */
export class FolderWalk {
  readonly #options: { folder: string; signal: AbortSignal };
  readonly gaps: WalkGaps = { unreadableFolders: 0, isCut: false };
  #seen = 0;
  #turnedAtMs = performance.now();

  constructor(options: { folder: string; signal: AbortSignal }) {
    this.#options = options;
  }

  async *entries(): AsyncGenerator<WalkedEntry> {
    const { folder } = this.#options;
    yield* this.#below("", rulesIn(folder, await rulesAbove(folder)));
  }

  async *#below(way: string, rules: IgnoreRules): AsyncGenerator<WalkedEntry> {
    const folder = join(this.#options.folder, way);
    for (const entry of await this.#list(folder)) {
      await this.#turn();
      const isFolder = entry.isDirectory();
      if (entry.name === ".git" || isIgnored(join(folder, entry.name), isFolder, rules)) continue;
      this.#seen += 1;
      if (this.#seen > MAX_WALKED_ENTRIES) this.gaps.isCut = true;
      if (this.gaps.isCut) return;
      const path = way === "" ? entry.name : `${way}/${entry.name}`;
      yield { path, kind: kindOf(entry) };
      if (isFolder) yield* this.#below(path, rulesIn(join(folder, entry.name), rules));
    }
  }

  async #turn(): Promise<void> {
    if (performance.now() - this.#turnedAtMs > MAX_TURN_MS) {
      await nextTurn();
      this.#turnedAtMs = performance.now();
    }
    this.#options.signal.throwIfAborted();
  }

  async #list(folder: string): Promise<Dirent[]> {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch {
      // The result names their number.
      this.gaps.unreadableFolders += 1;
      return [];
    }
  }
}

function kindOf(entry: Dirent): WalkedEntry["kind"] {
  if (entry.isDirectory()) return "folder";
  if (entry.isFile()) return "file";
  return entry.isSymbolicLink() ? "link" : "other";
}

/** Names the parts that a result does not cover, a sentence each. */
export function coverageNotes({ unreadableFolders, isCut }: WalkGaps): string[] {
  const notes: string[] = [];
  if (unreadableFolders > 0) notes.push(`[Unreadable folders: ${unreadableFolders}.]`);
  if (isCut) notes.push(`[Stopped after ${MAX_WALKED_ENTRIES} files and folders. Search a subfolder.]`);
  return notes;
}

/**
 * Escapes the leading segments of a glob that are names of existing files or folders: `app/[id]/*` means the folder
 * `[id]`, not `i` or `d`. Choices in braces keep their meaning.
 */
export async function withLiteralSegments(glob: string, folder: string): Promise<string> {
  const segments = glob.split("/");
  let path = folder;
  for (const [at, segment] of segments.entries()) {
    path = join(path, segment);
    if (/[*?\\{}]/.test(segment) || !(await exists(path))) break;
    segments[at] = segment.replace(/^!|\[/g, "\\$&");
  }
  return segments.join("/");
}

/** A later file overrides the earlier ones, as in ripgrep. */
const ruleFiles = [".gitignore", ".ignore"];
const MAX_RULES_BYTES = 1 << 20;
/** Longer lines name no path. */
const MAX_RULE_CHARS = 1_000;

/** One line of an ignore file. */
interface Rule {
  pattern: PathPattern;
  /** The line begins with `!`: matching paths are not ignored. */
  isException: boolean;
  isForFolders: boolean;
  /** The line has no slash: it matches names at any depth. */
  isNameOnly: boolean;
}

/** The rules of one folder. */
interface Layer {
  folder: string;
  rules: readonly Rule[];
}

/** The rules that apply in a folder, outermost first. */
type IgnoreRules = readonly Layer[];

/** Reads the rules above the folder of a search, up to the root of the repository. */
async function rulesAbove(folder: string): Promise<IgnoreRules> {
  const folders: string[] = [];
  let root = folder;
  while (!(await exists(join(root, ".git"))) && root !== dirname(root)) {
    root = dirname(root);
    folders.unshift(root);
  }
  let rules: IgnoreRules = layerOf(root, [join(".git", "info", "exclude")]);
  // A search in an ignored folder, given by name, lists its contents.
  for (const [at, above] of folders.entries()) {
    rules = rulesIn(above, rules);
    if (isIgnored(folders[at + 1] ?? folder, true, rules)) return [];
  }
  return rules;
}

function rulesIn(folder: string, above: IgnoreRules): IgnoreRules {
  return [...above, ...layerOf(folder, ruleFiles)];
}

/** True if the rules ignore an entry of a folder that is not ignored: the innermost folder with a matching rule decides. */
function isIgnored(path: string, isFolder: boolean, rules: IgnoreRules): boolean {
  const name = path.slice(path.lastIndexOf(sep) + 1);
  for (const layer of rules.toReversed()) {
    const way = path.slice(layer.folder.length).split(sep).join("/").replace(/^\//, "");
    const last = layer.rules.findLast(
      (rule) => (isFolder || !rule.isForFolders) && rule.pattern.matches(rule.isNameOnly ? name : way),
    );
    if (last !== undefined) return !last.isException;
  }
  return false;
}

function layerOf(folder: string, files: readonly string[]): Layer[] {
  const rules = files.flatMap((file) => rulesOf(join(folder, file)));
  return rules.length === 0 ? [] : [{ folder, rules }];
}

function rulesOf(path: string): Rule[] {
  try {
    return readRegularFile(path, MAX_RULES_BYTES).bytes.toString().split("\n").flatMap(ruleOf);
  } catch {
    return [];
  }
}

/** Reads a line as git does: a space at its end counts after a backslash. */
function ruleOf(line: string): Rule[] {
  if (line.length > MAX_RULE_CHARS) return [];
  const text = line
    .replace(/^\uFEFF/, "")
    .replace(/\r$/, "")
    .replace(/(?<!\\)[ \t]+$/, "");
  if (text.startsWith("#")) return [];
  const isException = text.startsWith("!");
  const isForFolders = text.endsWith("/");
  const path = text.slice(isException ? 1 : 0, isForFolders ? -1 : undefined);
  if (path === "") return [];
  const pattern = ignorePattern(path.replace(/^\//, ""));
  return [{ pattern, isException, isForFolders, isNameOnly: !path.includes("/") }];
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
