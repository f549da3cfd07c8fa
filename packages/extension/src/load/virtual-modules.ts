/** A module's exports by name. */
export type ModuleExports = Readonly<Record<string, unknown>>;

/** Host modules for extensions, by name. Each is loaded at its first import. */
export type VirtualModules = Readonly<Record<string, () => Promise<ModuleExports>>>;

/** The key under which a module exports advice for names that it does not have: sentences by name. */
export const INSTEAD = Symbol.for("bonsai-agent.instead");

/**
 * The host's loaded modules. Node reads a module from text, so each gets a text that re-exports the host's own
 * instances, also in a bundle.
 */
const REGISTRY = Symbol.for("bonsai-agent.virtual-modules");
const shared = globalThis as { [REGISTRY]?: ModuleExports[] };
const byLoader = new WeakMap<VirtualModules[string], ModuleExports>();
export const VIRTUAL_SCHEME = "bonsai-virtual:";

/** An import of a host module that must be loaded first. Node cannot wait for it while it resolves an import. */
export class NotLoadedYet extends Error {}

/** The exports of a module; undefined if it is not loaded. */
export function virtualExports(modules: VirtualModules, name: string): ModuleExports | undefined {
  const loader = modules[name];
  return loader && byLoader.get(loader);
}

export async function loadVirtualModule(modules: VirtualModules, name: string): Promise<void> {
  const loader = modules[name];
  if (loader !== undefined && !byLoader.has(loader)) byLoader.set(loader, await loader());
}

/**
 * The URL of a virtual module, one for each instance.
 * @throws NotLoadedYet
 */
export function virtualUrl(modules: VirtualModules, name: string): string {
  const exports = virtualExports(modules, name);
  if (exports === undefined) throw new NotLoadedYet(`${name} is not loaded yet.`);
  shared[REGISTRY] ??= [];
  const known = shared[REGISTRY].indexOf(exports);
  const index = known >= 0 ? known : shared[REGISTRY].push(exports) - 1;
  return `${VIRTUAL_SCHEME}${index}/${name}`;
}

export function virtualSource(url: string): string {
  const index = Number.parseInt(url.slice(VIRTUAL_SCHEME.length), 10);
  const lines = Object.keys(shared[REGISTRY]?.[index] ?? {}).map((key, at) => {
    const name = JSON.stringify(key);
    // An export list also allows reserved words.
    return `const _${at} = m[${name}]; export { _${at} as ${name} };`;
  });
  return [`const m = globalThis[Symbol.for("bonsai-agent.virtual-modules")][${index}];`, ...lines].join("\n");
}
