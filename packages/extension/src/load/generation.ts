import type { ExtensionFiles } from "./extension-files.ts";
import type { VirtualModules } from "./virtual-modules.ts";

/**
 * One load of an extension: the URLs of its entry and of all local files contain the generation's number, so that Node
 * loads them as new modules.
 * Invariant: the modules of two generations never import each other.
 */
export interface Generation {
  readonly id: number;
  readonly entry: string;
  readonly modules: VirtualModules;
  readonly files: ExtensionFiles;
  /** Local files that Node read, in order. */
  readonly read: Set<string>;
  /** The first import that could not be resolved. */
  unresolved?: UnresolvedImport;
}

export interface UnresolvedImport {
  specifier: string;
  importer: string;
  error: unknown;
}

const MARKER = /[?&]bonsai=(\d+)/;
/** Shared by all copies of this package in the process, so that numbers are unique. */
const COUNTER = Symbol.for("bonsai-agent.extension-generation");
const shared = globalThis as { [COUNTER]?: number };
const generations = new Map<number, Generation>();

export function newGeneration(of: Pick<Generation, "entry" | "modules" | "files">): Generation {
  const id = (shared[COUNTER] ?? 0) + 1;
  shared[COUNTER] = id;
  const generation: Generation = { ...of, id, read: new Set() };
  generations.set(id, generation);
  return generation;
}

/** The generation of a module's URL; undefined for modules outside of extensions. */
export function generationOf(url: string | undefined): Generation | undefined {
  const id = url === undefined ? undefined : MARKER.exec(url)?.[1];
  return id === undefined ? undefined : generations.get(Number(id));
}

export function dropGeneration({ id }: Generation): void {
  generations.delete(id);
}

/** Generations that jiti runs, by the folder of their files. */
const byFolder = new Map<string, Generation>();

/** Marks a folder whose files jiti runs. Their stacks have no numbers. */
export function runByJiti(folder: string, generation: Generation): void {
  byFolder.set(folder, generation);
}

/** The generation of a file that jiti runs, or that it leaves to Node. */
export function jitiGeneration(path: string): Generation | undefined {
  for (const [folder, generation] of byFolder) if (isInFolder(folder, path)) return generation;
  return undefined;
}

/** True for a file below a folder that belongs to the same package. */
export function isInFolder(folder: string, path: string): boolean {
  return path.startsWith(folder) && packageFolderOf(path) === packageFolderOf(`${folder}file`);
}

export function withGeneration(url: string, { id }: Generation): string {
  if (MARKER.test(url)) return url;
  return `${url}${url.includes("?") ? "&" : "?"}bonsai=${id}`;
}

/** Removes the numbers from a stack or a URL. */
export function withoutMarkers(text: string): string {
  return text.replace(/[?&]bonsai=\d+/g, "");
}

/** Removes the numbers from an error and its causes. A frozen error keeps them. */
export function tidyError(thrown: unknown): void {
  const seen = new Set<unknown>();
  for (let error = thrown; error instanceof Error && !seen.has(error); error = error.cause) {
    seen.add(error);
    const { stack, message } = error;
    if (typeof message === "string" && MARKER.test(message))
      Reflect.set(error, "message", withoutMarkers(message));
    if (typeof stack === "string" && MARKER.test(stack)) Reflect.set(error, "stack", withoutMarkers(stack));
  }
}

/** The folder of a file's npm package, with a trailing slash; empty outside of packages. */
export function packageFolderOf(path: string): string {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+[\\/]/.exec(path)?.[0] ?? "";
}
