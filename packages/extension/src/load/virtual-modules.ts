/** A module's exports by name. */
export type ModuleExports = Readonly<Record<string, unknown>>;

/** Modules that extensions get from the host, by the name that they import; each is loaded when it is first imported. */
export type VirtualModules = Readonly<Record<string, () => Promise<ModuleExports>>>;
