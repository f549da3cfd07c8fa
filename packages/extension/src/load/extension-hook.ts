import { readFileSync } from "node:fs";
import {
  createRequire,
  isBuiltin,
  type LoadHookSync,
  type ResolveHookSync,
  registerHooks,
} from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Generation,
  generationOf,
  marked,
  packageFolderOf,
  want,
  withoutMarkers,
} from "./generation.ts";
import { cachedTranspile, transpile, usesCommonJs } from "./transpile.ts";
import {
  PENDING_IMPORT,
  PENDING_URL,
  VIRTUAL_SCHEME,
  type VirtualModules,
  virtualSource,
  virtualUrl,
} from "./virtual-modules.ts";

let installed = false;

/** Node asks us about every import from now on; we answer for the modules of extensions alone. */
export function installExtensionHook(): void {
  if (installed) return;
  installed = true;
  registerHooks({ resolve, load });
}

const resolve: ResolveHookSync = (specifier, context, next) => {
  const requiring = commonJsGeneration(context.parentURL);
  const generation = generationOf(context.parentURL) ?? requiring ?? generationOf(specifier);
  if (generation === undefined) return next(specifier, context);
  if (Object.hasOwn(generation.modules, specifier)) {
    want(generation, [specifier]);
    return { url: virtualUrl(generation.modules, specifier), format: "module", shortCircuit: true };
  }
  if (specifier.startsWith(VIRTUAL_SCHEME)) return { url: specifier, format: "module", shortCircuit: true };
  const written = withoutMarkers(specifier);
  const resolved = resolveFile(generation, written, context, next);
  if (!isLocal(generation, resolved.url)) return resolved;
  if (requiring !== undefined) {
    joinGeneration(generation, fileURLToPath(resolved.url));
    return resolved;
  }
  const pathname = resolved.url.split(/[?#]/, 1)[0]!;
  const query = /^[./f][^?]*(\?.*)$/.exec(written)?.[1] ?? "";
  return {
    ...resolved,
    // Not its query: another hook of the process may have put its own there, and take TypeScript for CommonJS.
    url: marked(`${pathname}${query}`, generation),
    ...(/\.m?ts$/.test(pathname) ? { format: "module-typescript" } : {}),
    // Older TypeScript imports JSON without saying so.
    ...(/\.json$/.test(pathname) ? { importAttributes: { ...context.importAttributes, type: "json" } } : {}),
  };
};

type Resolve = Parameters<ResolveHookSync>;

function resolveFile(generation: Generation, specifier: string, context: Resolve[1], next: Resolve[2]) {
  const importer = withoutMarkers(context.parentURL ?? "");
  const from = { ...context, parentURL: importer || undefined };
  try {
    return next(specifier, from);
  } catch (error) {
    for (const candidate of otherSpellings(specifier)) {
      try {
        return next(candidate, from);
      } catch {
        // The error that counts is that of the import as it was written.
      }
    }
    // It may be imported only in some cases, and others shall be tried all the same.
    if (generation.late === "trial") return { url: PENDING_URL, format: "module", shortCircuit: true };
    generation.unresolved ??= { specifier, importer: importer && fileURLToPath(importer), error };
    throw error;
  }
}

/** What TypeScript takes for the same file: `./x.js` for `./x.ts`, `./x` for `./x.ts`, a folder for its index. */
function otherSpellings(specifier: string): string[] {
  if (!/^\.{0,2}\//.test(specifier) && !/^\.{1,2}$/.test(specifier)) return [];
  return [
    ...(/\.m?js$/.test(specifier) ? [specifier.replace(/js$/, "ts")] : []),
    ...[".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.mts", "/index.js", "/index.mjs"].map(
      (ending) => `${specifier.replace(/\/$/, "")}${ending}`,
    ),
  ];
}

/**
 * Files of the same package as the entry, and of libraries for extensions. What else is installed is read once and
 * stays, as in any program.
 */
function isLocal({ entry, modules }: Generation, url: string): boolean {
  if (!url.startsWith("file:")) return false;
  const folder = packageFolderOf(fileURLToPath(url));
  return folder === packageFolderOf(entry) || (folder !== "" && wantsHostModule(folder, modules));
}

const load: LoadHookSync = (url, context, next) => {
  if (url.startsWith(VIRTUAL_SCHEME))
    return { format: "module", source: virtualSource(url), shortCircuit: true };
  const generation = generationOf(url);
  if (generation === undefined) return next(url, context);
  const path = fileURLToPath(url);
  if (/\.m?ts$/.test(path)) return loadTypeScript(generation, path);
  const loaded = next(url, context);
  if (loaded.format === "module")
    return { ...loaded, source: noted(generation, path, String(loaded.source)) };
  if (loaded.format === "commonjs") beginCommonJs(generation, path);
  return loaded;
};

function loadTypeScript(generation: Generation, path: string): ReturnType<LoadHookSync> {
  const source = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  const text = noted(generation, path, source);
  const known = cachedTranspile(path, source);
  if (known === undefined && !generation.transpiled.has(path)) {
    if (!usesCommonJs(source)) return { format: "module-typescript", source: text, shortCircuit: true };
    generation.unfit.add(path);
    return { format: "module", source: PENDING_IMPORT, shortCircuit: true };
  }
  const added = text.slice(source.length);
  return { format: "module", source: `${known ?? transpile(path, source)}${added}`, shortCircuit: true };
}

/**
 * Takes note of a file. Its text is made to fail where something must be done before it can run: it names a module of
 * the host that is not loaded yet, or files that it imports later.
 */
function noted(generation: Generation, path: string, source: string): string {
  const { modules, late } = generation;
  generation.sources.set(path, source);
  const missing = want(generation, namedModules(modules, source));
  const later = late === "known" ? [] : lateImports(source);
  if (later.length > 0) generation.hasLate = true;
  if (missing.length + later.length === 0) return source;
  const tried = late === "trial" ? later.map((specifier) => `import ${JSON.stringify(specifier)};`) : [];
  return [source, ...tried, PENDING_IMPORT].join("\n");
}

/**
 * The virtual modules that a source may import. A name in quotes is taken for an import: one too many costs some
 * milliseconds. Where an import is only known at run time, all are: nothing can be loaded in the midst of it. A local file
 * that is named in an import() is read by the trial itself, which finds what that file needs.
 */
export function namedModules(modules: Generation["modules"], source: string): string[] {
  const names = Object.keys(modules);
  const dynamic = [...source.matchAll(/\bimport\s*\(\s*(?:"([^"]*)"|'([^']*)')?/g)];
  const late = lateImports(source);
  const open = dynamic.some((match) => {
    const specifier = match[1] ?? match[2];
    if (specifier === undefined) return true;
    return !(isBuiltin(specifier) || names.includes(specifier) || late.includes(specifier));
  });
  if (open) return names;
  return names.filter((name) => source.includes(`"${name}"`) || source.includes(`'${name}'`));
}

const pattern = /\bimport\s*\(\s*(["'])(\.{1,2}\/[^"'\n]+)\1\s*\)/g;

/** Local files that a module imports while it runs, as far as it names them. */
export function lateImports(source: string): string[] {
  return [...new Set([...source.matchAll(pattern)].map((match) => match[2] as string))];
}

/**
 * Owner of which CommonJS files belong to which generation: Node knows them by their path alone, without our number.
 */
const generationsByFile = new Map<string, Generation>();
const { cache } = createRequire(import.meta.url);

/** The generation whose CommonJS file imports something. */
function commonJsGeneration(parentUrl: string | undefined): Generation | undefined {
  return parentUrl?.startsWith("file:") && generationsByFile.size > 0
    ? generationsByFile.get(fileURLToPath(parentUrl))
    : undefined;
}

function joinGeneration(generation: Generation, path: string): void {
  generationsByFile.set(path, generation);
}

/**
 * To be called before Node runs a CommonJS file that is imported: it and what it requires are run anew.
 * @throws where modules of the host must be loaded first; `require` cannot wait, and nobody knows what it will ask for
 */
function beginCommonJs(generation: Generation, path: string): void {
  const missing = want(generation, Object.keys(generation.modules));
  if (missing.length > 0) throw new Error(`${missing.join(", ")} must be loaded first.`);
  // Node looks into this cache before it asks anybody, and finds a file that another extension required there.
  for (const [file, { id }] of generationsByFile) if (id !== generation.id) delete cache[file];
  joinGeneration(generation, path);
}

/** By folder. What is installed does not change while Bonsai runs, or is read anew with the next start. */
const peersOf = new Map<string, readonly string[]>();

/**
 * True for an installed package that wants a module of the host as its peer: a library for extensions. It gets the
 * host's, and counts as a part of the extension that imports it.
 */
function wantsHostModule(folder: string, modules: VirtualModules): boolean {
  let peers = peersOf.get(folder);
  if (peers === undefined) {
    peers = readPeers(folder);
    peersOf.set(folder, peers);
  }
  return peers.some((name) => Object.hasOwn(modules, name));
}

function readPeers(folder: string): readonly string[] {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      peerDependencies?: Record<string, string>;
    };
    return Object.keys(manifest.peerDependencies ?? {});
  } catch {
    // Node says what is wrong with a package when it resolves into it.
    return [];
  }
}
