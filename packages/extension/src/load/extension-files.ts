import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";
import { isTypeScript, NotForNode, type RunnableSource, runnableSource } from "./runnable-source.ts";

/** A place in a file of an extension; line and column count from 1. */
export interface SourcePlace {
  path: string;
  line: number;
  column?: number;
}

interface ConvertedFile {
  /** Hash of the source. */
  key: string;
  /** Why Node cannot run the file. */
  refusal?: string;
  facts?: Omit<RunnableSource, "text">;
  /** The text of TypeScript. JavaScript is its own text. */
  bytes?: Uint8Array;
}

/** Increase the number whenever the same source gives another result. */
const CACHE_VERSION = `6 ${process.version}`;

/**
 * Finds and converts one extension's files: strips the types of each file and finds its imports once. A cache file on disk
 * keeps the results for later starts.
 */
export class ExtensionFiles {
  readonly #converted: Map<string, ConvertedFile>;
  readonly #cacheFile: string | undefined;
  /** Files that this load of the extension has read: it sees no later edits. */
  readonly #read = new Map<string, RunnableSource>();
  readonly #found = new Map<string, string>();
  #isChanged = false;

  /** @param cacheFolder without it, nothing is kept between starts */
  constructor(entry: string, cacheFolder: string | undefined) {
    this.#cacheFile = cacheFolder && join(cacheFolder, `${sha256(entry)}.cache`);
    this.#converted = this.#cacheFile === undefined ? new Map() : readCache(this.#cacheFile);
  }

  /** @throws NotForNode */
  read(path: string): RunnableSource {
    const known = this.#read.get(path);
    if (known !== undefined) return known;
    const source = readFileSync(path);
    const key = sha256(source);
    const former = this.#converted.get(path);
    const { refusal, facts, bytes } =
      former?.key === key ? former : this.#convert(path, source.toString(), key);
    if (facts === undefined) throw new NotForNode(refusal);
    // Decoded on demand: Node loads only some of the files.
    const runnable = {
      ...facts,
      get text() {
        return Buffer.from(bytes ?? source).toString();
      },
    };
    this.#read.set(path, runnable);
    return runnable;
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

  /** The place in a file that a place in its converted text comes from. */
  original(place: SourcePlace): SourcePlace {
    const map = this.#converted.get(place.path)?.facts?.map;
    if (map === undefined) return place;
    const origin = new SourceMap(JSON.parse(map)).findOrigin(place.line, place.column ?? 1);
    if (!("lineNumber" in origin)) return place;
    return { path: place.path, line: origin.lineNumber, column: origin.columnNumber };
  }

  #convert(path: string, source: string, key: string): ConvertedFile {
    this.#isChanged = true;
    this.#converted.delete(path);
    const converted = convertedFile(path, source, key);
    this.#converted.set(path, converted);
    return converted;
  }

  /** Writes the cache file if there is a new result. A read-only disk only costs time. */
  save(): void {
    if (this.#cacheFile === undefined || !this.#isChanged) return;
    this.#isChanged = false;
    const cache = { version: CACHE_VERSION, files: this.#converted };
    try {
      mkdirSync(dirname(this.#cacheFile), { recursive: true, mode: 0o700 });
      const unfinished = `${this.#cacheFile}.${process.pid}`;
      writeFileSync(unfinished, serialize(cache), { mode: 0o600 });
      renameSync(unfinished, this.#cacheFile);
    } catch {
      // The next start converts the files again.
    }
  }
}

function convertedFile(path: string, source: string, key: string): ConvertedFile {
  try {
    const { text, ...facts } = runnableSource(path, source);
    return { key, facts, ...(isTypeScript(path) && { bytes: Buffer.from(text) }) };
  } catch (error) {
    if (error instanceof NotForNode) return { key, refusal: error.message };
    throw error;
  }
}

/** Returns nothing for a missing or damaged file. */
function readCache(file: string): Map<string, ConvertedFile> {
  try {
    const { version, files } = deserialize(readFileSync(file)) as {
      version: string;
      files: Map<string, ConvertedFile>;
    };
    return version === CACHE_VERSION && files instanceof Map ? files : new Map();
  } catch {
    return new Map();
  }
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Endings of a path, in the order in which they are tried. */
const ENDINGS = [".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.mts", "/index.js", "/index.mjs"];

/**
 * Finds the file of a relative or absolute import, as TypeScript does: `./x.js` means `./x.ts`, `./x` means `./x.ts`, a
 * folder means its index. Undefined for an import of a package, and if there is no such file.
 */
function localFile(specifier: string, importer: string): string | undefined {
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
