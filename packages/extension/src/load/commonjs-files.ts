import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Generation } from "./generation.ts";
import { isLoaded } from "./loaded-modules.ts";

/**
 * Owner of which CommonJS files belong to which generation: Node knows them by their path alone, without our number.
 */
const generations = new Map<string, Generation>();
const { cache } = createRequire(import.meta.url);

/** The generation whose CommonJS file imports something. */
export function commonJsGeneration(parentUrl: string | undefined): Generation | undefined {
  return parentUrl?.startsWith("file:") && generations.size > 0
    ? generations.get(fileURLToPath(parentUrl))
    : undefined;
}

export function joinGeneration(generation: Generation, path: string): void {
  generations.set(path, generation);
}

/**
 * To be called before Node runs a CommonJS file that is imported: it and what it requires are run anew.
 * @throws where modules of the host must be loaded first; `require` cannot wait, and nobody knows what it will ask for
 */
export function beginCommonJs(generation: Generation, path: string): void {
  const missing = Object.keys(generation.modules).filter((name) => !isLoaded(generation.modules, name));
  for (const name of missing) generation.wanted.add(name);
  if (missing.length > 0) throw new Error(`${missing.join(", ")} must be loaded first.`);
  // Node looks into this cache before it asks anybody, and finds a file that another extension required there.
  for (const [file, { id }] of generations) if (id !== generation.id) delete cache[file];
  joinGeneration(generation, path);
}
