/** A module's exports by name. */
export type ModuleExports = Readonly<Record<string, unknown>>;

/** Modules that extensions get from the host, by the name that they import; each is loaded when it is first imported. */
export type VirtualModules = Readonly<Record<string, () => Promise<ModuleExports>>>;

/** A module may say under this key what to use in the place of names that it does not have: sentences by name. */
export const INSTEAD = Symbol.for("bonsai-agent.instead");

/**
 * Owner of the host's modules that extensions have asked for. Node reads a module from text, so each gets a text that
 * takes the host's own exports from this process: the same instances, in a bundle too.
 */
const REGISTRY = Symbol.for("bonsai-agent.virtual-modules");
const shared = globalThis as { [REGISTRY]?: ModuleExports[] };
const byLoader = new WeakMap<VirtualModules[string], ModuleExports>();
export const VIRTUAL_SCHEME = "bonsai-virtual:";

/** An import of a host module that must be loaded first. Node cannot wait for it while it resolves an import. */
export class NotLoadedYet extends Error {}

/** What a module exports; undefined where it is not loaded. */
export function virtualExports(modules: VirtualModules, name: string): ModuleExports | undefined {
  const loader = modules[name];
  return loader && byLoader.get(loader);
}

export async function loadVirtualModule(modules: VirtualModules, name: string): Promise<void> {
  const loader = modules[name];
  if (loader !== undefined && !byLoader.has(loader)) byLoader.set(loader, await loader());
}

/**
 * The URL of a virtual module: one for each instance of it.
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

/** The text of a virtual module. */
export function virtualSource(url: string): string {
  const index = Number.parseInt(url.slice(VIRTUAL_SCHEME.length), 10);
  const lines = Object.keys(shared[REGISTRY]?.[index] ?? {}).map((key, at) => {
    const name = JSON.stringify(key);
    // Through a list of exports: a module may export a reserved word.
    return `const _${at} = m[${name}]; export { _${at} as ${name} };`;
  });
  return [`const m = globalThis[Symbol.for("bonsai-agent.virtual-modules")][${index}];`, ...lines].join("\n");
}
