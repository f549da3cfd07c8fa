import { type VirtualModules, virtualExports } from "./virtual-modules.ts";

/**
 * One reading of an extension: its entry and every local file that it imports carry the generation's number in their
 * URL, so that Node takes them for modules that it has not seen yet.
 * Invariant: the modules of two generations never import each other.
 */
export interface Generation {
  readonly id: number;
  /** Real path of the entry module. */
  readonly entry: string;
  readonly modules: VirtualModules;
  /** Virtual modules that its files name and that were not loaded yet when they did. */
  readonly wanted: Set<string>;
  /**
   * What is known of files that are imported while others run: whether Node can read them must be found out before.
   * A trial imports them with all others, and then fails, so that none is run.
   */
  readonly late: "unknown" | "trial" | "known";
  /** True when a file has such imports. */
  hasLate: boolean;
  /** Local files that must be rewritten before they can run, where that can be seen from their text. */
  readonly unfit: Set<string>;
  /** Local files and their text, in the order in which they were read. */
  readonly sources: Map<string, string>;
  /** Local files whose syntax Node alone cannot strip. */
  readonly transpiled: ReadonlySet<string>;
  /** The first import that could not be resolved. */
  unresolved?: UnresolvedImport;
}

export interface UnresolvedImport {
  specifier: string;
  importer: string;
  error: unknown;
}

const MARKER = /[?&]bonsai=(\d+)/;
/** Shared by all copies of this package in the process, whose hooks must not take each other's generations. */
const COUNTER = Symbol.for("bonsai-agent.extension-generation");
const shared = globalThis as { [COUNTER]?: number };
const generations = new Map<number, Generation>();

export function newGeneration(of: Pick<Generation, "entry" | "modules" | "transpiled" | "late">): Generation {
  const id = (shared[COUNTER] ?? 0) + 1;
  shared[COUNTER] = id;
  const generation: Generation = {
    ...of,
    id,
    wanted: new Set(),
    hasLate: false,
    unfit: new Set(),
    sources: new Map(),
  };
  generations.set(id, generation);
  return generation;
}

/** The generation that a module's URL belongs to; undefined for all modules that no extension brought. */
export function generationOf(url: string | undefined): Generation | undefined {
  const id = url === undefined ? undefined : MARKER.exec(url)?.[1];
  return id === undefined ? undefined : generations.get(Number(id));
}

/** Takes note of those of these modules of the host that must be loaded first. @returns them */
export function want({ modules, wanted }: Generation, names: readonly string[]): string[] {
  const missing = names.filter((name) => virtualExports(modules, name) === undefined);
  for (const name of missing) wanted.add(name);
  return missing;
}

/** A reading that came to nothing is not asked for again. */
export function dropGeneration({ id }: Generation): void {
  generations.delete(id);
}

export function marked(url: string, { id }: Generation): string {
  if (MARKER.test(url)) return url;
  return `${url}${url.includes("?") ? "&" : "?"}bonsai=${id}`;
}

/** Text (a stack, a URL) as its reader knows it: without the numbers. */
export function withoutMarkers(text: string): string {
  return text.replace(/[?&]bonsai=\d+/g, "");
}

/** The same for the stacks of an error and of its causes. One that is frozen keeps its numbers. */
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

/** The folder of the npm package that a file lies in, with its trailing slash; empty where it lies in none. */
export function packageFolderOf(path: string): string {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+[\\/]/.exec(path)?.[0] ?? "";
}
