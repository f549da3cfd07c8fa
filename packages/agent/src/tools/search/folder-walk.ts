import { constants, type Dirent } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { GlobPattern } from "./glob-matcher.ts";

/** A search of more is one that was begun in the wrong place. */
const MAX_WALKED_ENTRIES = 300_000;
/** In a folder of many, keys and signals get their turn after so long: an abort is one of them. */
const MAX_TURN_MS = 20;

export interface WalkedEntry {
  /** Relative to where the walk began, with `/`. */
  path: string;
  kind: "file" | "folder" | "link" | "other";
}

interface WalkOptions {
  folder: string;
  signal: AbortSignal;
}

/** What a walk could not show. */
interface WalkGaps {
  unreadableFolders: number;
  isCut: boolean;
}

/**
 * Everything below a folder, in the order of names, but for `.git` and what ignore files name. Links are shown and not
 * followed.
 */
export class FolderWalk {
  readonly #options: WalkOptions;
  readonly gaps: WalkGaps = { unreadableFolders: 0, isCut: false };
  #seen = 0;
  #turnedAtMs = performance.now();

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  async *entries(): AsyncGenerator<WalkedEntry> {
    const { folder } = this.#options;
    yield* this.#below("", await rulesIn(folder, await rulesAbove(folder)));
  }

  async *#below(way: string, rules: IgnoreRules): AsyncGenerator<WalkedEntry> {
    const folder = join(this.#options.folder, way);
    for (const entry of await this.#list(folder)) {
      await this.#turn();
      const isFolder = entry.isDirectory();
      if (entry.name === ".git" || isIgnored({ path: join(folder, entry.name), isFolder, rules })) continue;
      this.#seen += 1;
      if (this.#seen > MAX_WALKED_ENTRIES) this.gaps.isCut = true;
      if (this.gaps.isCut) return;
      const path = way === "" ? entry.name : `${way}/${entry.name}`;
      yield { path, kind: kindOf(entry) };
      if (isFolder) yield* this.#below(path, await rulesIn(join(folder, entry.name), rules));
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
      // Counted, and named in the result: one closed folder does not spoil a search.
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

/** What a result does not cover, as sentences. */
export function gapNotes({ unreadableFolders, isCut }: WalkGaps): string[] {
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
type IgnoreRules = readonly Layer[];

/** The rules that a search beginning in this folder finds above it, up to the root of the repository. */
async function rulesAbove(folder: string): Promise<IgnoreRules> {
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

async function rulesIn(folder: string, above: IgnoreRules): Promise<IgnoreRules> {
  return [...above, ...(await layerOf(folder, ruleFiles))];
}

/** Whether an entry of a folder that is not ignored is: the innermost folder with something to say decides. */
function isIgnored({
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
  const pattern = new GlobPattern(path.replace(/^\//, ""), { isGitignore: true });
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
