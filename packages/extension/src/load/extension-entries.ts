import { readdirSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type FindProblem, manifestPaths } from "./package-manifest.ts";

/** Absolute paths of existing entry modules, and the problems. */
export interface Entries {
  entries: readonly string[];
  problems: readonly FindProblem[];
}

/** Finds the extensions of a searched folder: its modules, and its folders that are an extension. It need not exist. */
export function entriesIn(folder: string): Entries {
  return new Search().addFolder(folder);
}

/** Finds the extensions at a path that a user named: a module, or a folder with one or several. */
export function entriesAt(path: string, cwd: string): Entries {
  const search = new Search();
  if (path.startsWith("npm:")) {
    const hint = `Run \`bonsai extension add ${path}\` once. Bonsai then loads it every time.`;
    return search.report(path, "It is a package, not a path.", hint);
  }
  const absolute = resolve(cwd, path.replace(/^~(?=$|[\\/])/, homedir()));
  const stats = search.stats(absolute, "Fix the path, or remove it.");
  if (stats?.isDirectory() !== true) return stats === undefined ? search : search.add(absolute);
  if (!search.addExtension(absolute)) search.addFolder(absolute);
  return search.isEmpty ? search.reportNoExtension(absolute) : search;
}

/** Finds the extensions of a package: the ones in its package.json, else the ones in its folder `extensions`. */
export function packageExtensions(folder: string): Entries {
  const search = new Search();
  const stats = search.stats(
    folder,
    "Install the package again, or remove it with `bonsai extension remove`.",
  );
  if (stats?.isDirectory() === false) search.add(folder);
  else if (stats !== undefined && !search.addManifest(folder)) search.addFolder(join(folder, "extensions"));
  return search;
}

const INDEX_NAMES = ["index.ts", "index.mts", "index.js", "index.mjs"];

class Search implements Entries {
  entries: string[] = [];
  readonly problems: FindProblem[] = [];

  get isEmpty(): boolean {
    return this.entries.length + this.problems.length === 0;
  }

  add(path: string): this {
    this.entries.push(path);
    return this;
  }

  report(path: string, message: string, hint: string): this {
    this.problems.push({ path, message, hint });
    return this;
  }

  reportNoExtension(folder: string): this {
    const hint =
      'Add an index.ts, or a package.json with {"bonsai": {"extensions": ["./file.ts"]}}. To skip a folder of shared code, start its name with _.';
    return this.report(folder, "It contains no extension.", hint);
  }

  /** Follows links. Reports a path that cannot be read. */
  stats(path: string, hint: string): Stats | undefined {
    try {
      return statSync(path);
    } catch (error) {
      this.#reportUnreadable(path, error, hint);
      return undefined;
    }
  }

  addFolder(folder: string): this {
    let names: string[] = [];
    try {
      names = readdirSync(folder).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        this.#reportUnreadable(folder, error, "It must be a readable folder.");
    }
    for (const name of names) if (!isIgnored(name)) this.#addFound(join(folder, name));
    return this;
  }

  /** Adds the extensions in a folder's package.json, else its index. Returns false if it has neither. */
  addExtension(folder: string): boolean {
    return this.addManifest(folder) || this.#addIndex(folder);
  }

  /** Adds the extensions in a folder's package.json. Returns false if it lists none. */
  addManifest(folder: string): boolean {
    const named = manifestPaths(folder, "extensions", isIgnored);
    if (named === undefined) return false;
    this.problems.push(...named.problems);
    const others = this.entries;
    this.entries = [];
    for (const path of named.paths) this.#addNamed(path);
    const own = new Set(this.entries.filter((path) => !named.excluded.includes(path)));
    this.entries = [...others, ...own];
    return true;
  }

  #addNamed(path: string): void {
    const stats = this.stats(path, "Fix that path in the package.json.");
    if (stats?.isDirectory() === false) this.add(path);
    else if (stats !== undefined && !this.#addIndex(path)) this.addFolder(path);
  }

  #addIndex(folder: string): boolean {
    const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
    const index = INDEX_NAMES.map((name) => join(folder, name)).find(isFile);
    if (index !== undefined) this.add(index);
    return index !== undefined;
  }

  #addFound(path: string): void {
    const stats = this.stats(path, "Remove it, or fix the link.");
    if (stats?.isDirectory() === false && isModuleName(path)) this.add(path);
    if (stats?.isDirectory() === true && !this.addExtension(path) && looksLikeExtension(path))
      this.reportNoExtension(path);
  }

  #reportUnreadable(path: string, error: unknown, hint: string): void {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const known: Readonly<Record<string, string>> = {
      ELOOP: "It is a link to itself.",
      ENOENT: "It does not exist.",
      ENOTDIR: "It is not a folder.",
    };
    this.report(path, known[code] ?? `Cannot read it: ${message}.`, hint);
  }
}

/** A folder of pictures or notes beside extensions is no mistake. */
function looksLikeExtension(folder: string): boolean {
  const names = readdirSync(folder);
  return names.length === 0 || names.some((name) => isModuleName(name) || name === "package.json");
}

/** True for a module that can be an extension. */
export function isModuleName(name: string): boolean {
  return /\.m?[jt]s$/.test(name);
}

/** True for hidden files, tests, declarations and, by their underscore, shared code. */
function isIgnored(name: string): boolean {
  return /^[._]|^node_modules$/.test(name) || /\.(d|test|spec)\.m?[jt]s$/.test(name);
}
