import { type LoadHookSync, type ResolveHookContext, type ResolveHookSync, registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  type Generation,
  generationOf,
  jitiGeneration,
  packageFolderOf,
  withGeneration,
  withoutMarkers,
} from "./generation.ts";
import { hostPeers } from "./host-imports.ts";
import { isTypeScript, NotForNode } from "./runnable-source.ts";
import { VIRTUAL_SCHEME, virtualSource, virtualUrl } from "./virtual-modules.ts";

let installed = false;

/** Answers Node's imports for the modules of extensions only. */
export function installExtensionHook(): void {
  if (installed) return;
  installed = true;
  registerHooks({ resolve, load });
}

const resolve: ResolveHookSync = (specifier, context, next) => {
  const generation = generationOf(context.parentURL) ?? generationOf(specifier);
  if (generation === undefined) {
    refuseForJiti(specifier);
    return next(specifier, context);
  }
  if (Object.hasOwn(generation.modules, specifier))
    return { url: virtualUrl(generation.modules, specifier), format: "module", shortCircuit: true };
  if (specifier.startsWith(VIRTUAL_SCHEME)) return { url: specifier, format: "module", shortCircuit: true };
  const written = withoutMarkers(specifier);
  const isRequired = context.conditions.includes("require");
  const resolved = resolveFile(generation, written, context, next, isRequired);
  if (isRequired || !isLocal(generation, resolved.url)) return resolved;
  const pathname = resolved.url.split(/[?#]/, 1)[0]!;
  const query = /^[./f][^?]*(\?.*)$/.exec(written)?.[1] ?? "";
  return {
    ...resolved,
    // Without its query: another hook may have added one, and take TypeScript for CommonJS.
    url: withGeneration(`${pathname}${query}`, generation),
    ...(isTypeScript(pathname) ? { format: "module" } : {}),
    // Older TypeScript imports JSON without an attribute.
    ...(/\.json$/.test(pathname) ? { importAttributes: { ...context.importAttributes, type: "json" } } : {}),
  };
};

/**
 * jiti tries JavaScript with Node before it runs a file itself. Node would give the file no host modules, and not read it
 * again.
 * @throws NotForNode
 */
function refuseForJiti(specifier: string): void {
  if (!/^(?:file:|\/|[A-Z]:\\).*\.[cm]?jsx?$/.test(specifier)) return;
  const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier;
  if (jitiGeneration(path) !== undefined) throw new NotForNode(`jiti runs ${path}.`);
}

type Next = Parameters<ResolveHookSync>[2];

function resolveFile(
  generation: Generation,
  specifier: string,
  context: ResolveHookContext,
  next: Next,
  isRequired: boolean,
) {
  const importer = withoutMarkers(context.parentURL ?? "");
  const from = { ...context, parentURL: importer || undefined };
  const path = importer.startsWith("file:") ? fileURLToPath(importer) : "";
  const file = generation.files.find(specifier, path);
  // Skip Node's own resolution, which would read the file system again.
  if (file !== undefined && !isRequired && isTypeScript(file))
    return { url: pathToFileURL(file).href, format: "module", shortCircuit: true };
  try {
    if (file === undefined) return next(specifier, from);
    return next(isRequired ? file : pathToFileURL(file).href, from);
  } catch (error) {
    generation.unresolved ??= { specifier, importer: path, error };
    throw error;
  }
}

/**
 * True for files of the extension's own package and of libraries for extensions. Other packages are loaded once, as in
 * any program.
 */
function isLocal({ entry, modules }: Generation, url: string): boolean {
  if (!url.startsWith("file:")) return false;
  const folder = packageFolderOf(fileURLToPath(url));
  return folder === packageFolderOf(entry) || (folder !== "" && hostPeers(folder, modules).length > 0);
}

const load: LoadHookSync = (url, context, next) => {
  if (url.startsWith(VIRTUAL_SCHEME))
    return { format: "module", source: virtualSource(url), shortCircuit: true };
  const generation = generationOf(url);
  if (generation === undefined) return next(url, context);
  const path = fileURLToPath(url);
  generation.read.add(path);
  if (isTypeScript(path))
    return { format: "module", source: generation.files.read(path).text, shortCircuit: true };
  return next(url, context);
};
