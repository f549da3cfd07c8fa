import type { ExtensionHost, ExtensionModels } from "../extension-host.ts";

/**
 * The host's models, opened before the first extension is loaded: what extensions ask of them at once (`find`,
 * `getAll`, `registerProvider`) is then never a guess.
 */
export interface OpenedModels {
  /** @throws what opening them threw */
  get(): ExtensionModels;
}

/** Never rejects: what went wrong is thrown at whoever uses the models, and disturbs no extension that does not. */
export async function openModels(host: Pick<ExtensionHost, "models">): Promise<OpenedModels> {
  try {
    const models = await host.models();
    return { get: () => models };
  } catch (error) {
    return {
      get() {
        throw error;
      },
    };
  }
}
