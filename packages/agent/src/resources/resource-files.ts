import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { count } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";

interface FolderEntry {
  path: string;
  name: string;
  isFolder: boolean;
  /** The error of a broken link. */
  problem?: unknown;
}

/**
 * Lists the files and folders in a folder by name, links followed, without hidden ones and `node_modules`. Omits pipes and
 * devices: reading one could wait for ever.
 * @param seen real paths of the folders so far: a folder that contains itself by a link is listed once
 * @param onError called if the folder cannot be read
 */
export function folderEntries(
  folder: string,
  seen: Set<string>,
  onError: (error: unknown) => void,
): FolderEntry[] {
  try {
    const real = realpathSync(folder);
    if (seen.has(real)) return [];
    seen.add(real);
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => folderEntry(folder, entry));
  } catch (error) {
    onError(error);
    return [];
  }
}

function folderEntry(folder: string, entry: Dirent): FolderEntry[] {
  const { name } = entry;
  const path = join(folder, name);
  try {
    const found = entry.isSymbolicLink() ? statSync(path) : entry;
    return found.isDirectory() || found.isFile() ? [{ path, name, isFolder: found.isDirectory() }] : [];
  } catch (problem) {
    return [{ path, name, isFolder: false, problem }];
  }
}

/** Returns undefined for a missing path, a broken link and a path without permission. */
export function statsAt(path: string): Stats | undefined {
  return orUndefined(() => statSync(path));
}

/** The path with links resolved. Returns undefined as `statsAt`. */
export function realOf(path: string): string | undefined {
  return orUndefined(() => realpathSync(path));
}

function orUndefined<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Entries in all places together. A larger search began in the wrong folder. */
const MAX_ENTRIES = 10_000;
/** Levels of folders below a place. */
const MAX_DEPTH = 8;

/** Files that may be skills. */
export interface SkillFiles<Place> {
  files: { path: string; place: Place }[];
  problems: { path: string; message: string }[];
}

/** Finds the files in the order of the places and of names. Never throws. */
export function findSkillFiles<Place extends { path: string }>(places: readonly Place[]): SkillFiles<Place> {
  const search = new SkillSearch();
  const files = places.flatMap((place) => search.filesAt(place.path).map((path) => ({ path, place })));
  return { files, problems: search.problems };
}

/** Searches all places. */
class SkillSearch {
  readonly problems: SkillFiles<never>["problems"] = [];
  #count = 0;
  /** Folders seen in the current place; two places may share a folder. */
  #seenFolders = new Set<string>();

  filesAt(path: string): string[] {
    this.#seenFolders = new Set();
    const stats = statsAt(path);
    if (stats?.isDirectory()) return this.#below(path, 0);
    return stats?.isFile() ? [path] : [];
  }

  #below(folder: string, depth: number): string[] {
    const entries = folderEntries(folder, this.#seenFolders, (error) => {
      this.problems.push({ path: folder, message: `Cannot read it: ${messageOf(error)}` });
    });
    const own = entries.find(({ name, isFolder, problem }) => name === "SKILL.md" && !isFolder && !problem);
    if (own !== undefined) return [own.path];
    return entries.flatMap((entry) => (this.#mayRead(folder) ? this.#at(entry, depth) : []));
  }

  #at({ path, name, isFolder, problem }: FolderEntry, depth: number): string[] {
    if (isFolder) return depth < MAX_DEPTH ? this.#below(path, depth + 1) : [];
    return depth === 0 && problem === undefined && name.endsWith(".md") ? [path] : [];
  }

  /** Counts each entry when its turn comes, so that a large folder leaves entries for its subfolders. */
  #mayRead(folder: string): boolean {
    this.#count += 1;
    if (this.#count === MAX_ENTRIES + 1) {
      const message = `The search for skills stopped here after ${count(MAX_ENTRIES)} files and folders. Keep skills in a folder of their own.`;
      this.problems.push({ path: folder, message });
    }
    return this.#count <= MAX_ENTRIES;
  }
}

/** A Markdown file, split at its lines of dashes. */
interface FrontmatterParts {
  /** Undefined for a text without fields. */
  yaml: string | undefined;
  /** Without the fields; line ends are `\n`. */
  body: string;
  /** The reason why there are no fields: the end of a sentence about the file, without a full stop. */
  problem?: string;
}

interface Frontmatter extends Omit<FrontmatterParts, "yaml"> {
  /** Empty if there are none, or if they cannot be read. */
  fields: Record<string, unknown>;
}

/** `parse` of the package yaml, which is loaded only for a file with fields. */
export type ParseYaml = (text: string, options: { logLevel: "error" }) => unknown;

/** Longer fields are not a description, and slow down the parser. */
const MAX_YAML_CHARS = 64 * 1024;

const FENCE = /^---[ \t]*$/;

/** Finds the fields without parsing them. */
export function frontmatterParts(content: string): FrontmatterParts {
  const text = content.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  const [first = "", ...lines] = text.split("\n");
  if (!FENCE.test(first)) return { yaml: undefined, body: text };
  const end = lines.findIndex((line) => FENCE.test(line));
  if (end < 0) return { yaml: undefined, body: text, problem: "its front matter has no closing line ---" };
  return { yaml: lines.slice(0, end).join("\n"), body: lines.slice(end + 1).join("\n") };
}

/** Reads the fields of a text. Never rejects: errors become problems. */
export async function parseFrontmatter(content: string): Promise<Frontmatter> {
  const parts = frontmatterParts(content);
  if (parts.yaml === undefined) return readFrontmatter(parts, () => undefined);
  const { parse } = await import("yaml");
  return readFrontmatter(parts, parse);
}

/** Parses the fields. Never throws: errors become problems. */
export function readFrontmatter({ yaml, body, problem }: FrontmatterParts, parse: ParseYaml): Frontmatter {
  if (yaml === undefined) return { fields: {}, body, ...(problem !== undefined && { problem }) };
  const text = body.replace(/^\n+/, "");
  if (yaml.length > MAX_YAML_CHARS) {
    const size = `${count(yaml.length)} characters; the maximum is ${count(MAX_YAML_CHARS)}`;
    return { fields: {}, body: text, problem: `its front matter has ${size}` };
  }
  try {
    return { ...fieldsOf(parsed(yaml, parse)), body: text };
  } catch (error) {
    const reason = messageOf(error).split("\n", 1)[0]!.replace(/:$/, "");
    return { fields: {}, body: text, problem: `its front matter is not valid YAML: ${reason}` };
  }
}

function fieldsOf(value: unknown): Pick<Frontmatter, "fields" | "problem"> {
  if (value === null || value === undefined) return { fields: {} };
  if (typeof value === "object" && !Array.isArray(value)) return { fields: value as Record<string, unknown> };
  return { fields: {}, problem: "its front matter is not a list of fields (name: value)" };
}

/** A value on one line. Not for lists without an end and for references: their meaning is unknown. */
const plainValue = /^([\w-]+:[ \t]+)((?![*&!]|[[{][^\]}]*$)\S.*)$/gm;

/** Reads invalid values as text: files of Claude Code have `argument-hint: [a] [b]` and `description: Use: when …`. */
function parsed(yaml: string, parse: ParseYaml): unknown {
  try {
    return parse(yaml, { logLevel: "error" });
  } catch (error) {
    const quoted = yaml.replaceAll(plainValue, (line, name: string, value: string) =>
      isValid(line, parse) ? line : name + JSON.stringify(value.trim()),
    );
    if (quoted === yaml) throw error;
    return parse(quoted, { logLevel: "error" });
  }
}

function isValid(line: string, parse: ParseYaml): boolean {
  try {
    parse(line, { logLevel: "error" });
    return true;
  } catch {
    return false;
  }
}
