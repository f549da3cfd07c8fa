import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isTypeScript, NotForNode, type RunnableSource, runnableSource } from "./runnable-source.ts";
import { type KeptFile, readCache, writeCache } from "./source-cache.ts";

/** A place in a file of an extension; line and column count from 1. */
export interface SourcePlace {
  path: string;
  line: number;
  column?: number;
}

/**
 * Finds and converts one extension's files. Strips the types of each file and finds its imports once. A cache file on
 * disk keeps the results for later starts.
 */
export class ExtensionFiles {
  readonly #kept: Map<string, KeptFile>;
  readonly #cacheFile: string | undefined;
  /** Files that this reading of the extension has read: it sees no later edits. */
  readonly #read = new Map<string, RunnableSource>();
  readonly #found = new Map<string, string>();
  #isChanged = false;

  /** @param cacheFolder without it, nothing is kept between starts */
  constructor(entry: string, cacheFolder: string | undefined) {
    this.#cacheFile = cacheFolder && join(cacheFolder, `${sha256(entry)}.cache`);
    this.#kept = new Map(this.#cacheFile === undefined ? [] : readCache(this.#cacheFile));
  }

  /** @throws NotForNode, SourceFailure */
  read(path: string): RunnableSource {
    const known = this.#read.get(path);
    if (known !== undefined) return known;
    const runnable = this.#readAgain(path);
    this.#read.set(path, runnable);
    return runnable;
  }

  #readAgain(path: string): RunnableSource {
    const source = readFileSync(path);
    const key = sha256(source);
    const kept = this.#kept.get(path);
    if (kept?.key !== key) return this.#convert(path, source.toString(), key);
    if (kept.runnable === undefined) throw new NotForNode(kept.refusal);
    return isTypeScript(path) ? kept.runnable : { ...kept.runnable, text: source.toString() };
  }

  /** Returns the real path of `localFile`. */
  find(specifier: string, importer: string): string | undefined {
    const key = `${dirname(importer)}\n${specifier}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const file = localFile(specifier, importer);
    if (file === undefined) return undefined;
    const path = realpathSync.native(file);
    this.#found.set(key, path);
    return path;
  }

  /** The place in a file that a place in its text comes from. Line and column count from 1. */
  original(place: SourcePlace): SourcePlace {
    const map = this.#kept.get(place.path)?.runnable?.map;
    if (map === undefined) return place;
    const origin = new SourceMap(JSON.parse(map)).findOrigin(place.line, place.column ?? 1);
    if (!("lineNumber" in origin)) return place;
    return { path: place.path, line: origin.lineNumber, column: origin.columnNumber };
  }

  #convert(path: string, source: string, key: string): RunnableSource {
    this.#isChanged = true;
    this.#kept.delete(path);
    try {
      const runnable = runnableSource(path, source);
      this.#kept.set(path, { key, runnable });
      return runnable;
    } catch (error) {
      if (error instanceof NotForNode) this.#kept.set(path, { key, refusal: error.message });
      throw error;
    }
  }

  /** Writes the cache file if there is a new result. */
  save(): void {
    if (this.#cacheFile === undefined || !this.#isChanged) return;
    this.#isChanged = false;
    writeCache(this.#cacheFile, this.#kept);
  }
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Endings of a path, in the order in which they are tried. */
const ENDINGS = [".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.mts", "/index.js", "/index.mjs"];

/**
 * The file that a relative or absolute import means, as TypeScript sees it: `./x.js` for `./x.ts`, `./x` for `./x.ts`, a
 * folder for its index. Undefined for an import of a package, and if there is no such file.
 */
export function localFile(specifier: string, importer: string): string | undefined {
  const isLocal =
    /^\.{0,2}\//.test(specifier) || /^\.{1,2}$/.test(specifier) || specifier.startsWith("file:");
  if (!isLocal) return undefined;
  const path = pathOf(specifier, importer);
  if (path === undefined) return undefined;
  const spellings = [
    path,
    ...(/\.[mc]?js$/.test(path) ? [path.replace(/js$/, "ts")] : []),
    ...ENDINGS.map((ending) => `${path}${ending}`),
  ];
  return spellings.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile());
}

function pathOf(specifier: string, importer: string): string | undefined {
  try {
    if (specifier.startsWith("file:")) return fileURLToPath(specifier.replace(/[?#].*$/, ""));
    return resolve(dirname(importer), decodeURIComponent(specifier.replace(/[?#].*$/, "")));
  } catch {
    return undefined;
  }
}
