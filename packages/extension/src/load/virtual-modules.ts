/** A module's exports by name. */
export type ModuleExports = Readonly<Record<string, unknown>>;

/** Modules that extensions get from the host, by the name that they import; each is loaded when it is first imported. */
export type VirtualModules = Readonly<Record<string, () => Promise<ModuleExports>>>;

/** A module may say under this key what to use in the place of names that it does not have: sentences by name. */
export const INSTEAD = Symbol.for("bonsai-agent.instead");
