import type { ProviderOptions } from "../api/provider-options.ts";
import type { OpenedModels } from "./context/opened-models.ts";

export interface ProviderRegistrarOptions {
  models: OpenedModels;
  /** Default: the process's. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** Owner of the providers that extensions brought, latest on top. */
export interface ProviderRegistrar {
  /**
   * Adds a provider or changes one. The function returned brings back what it covered; a second call does nothing.
   * @throws BonsaiError `provider_options_invalid`; then nothing has changed
   */
  register(name: string, options: ProviderOptions): () => void;
  /** Undoes all that was registered under the name. */
  unregister(name: string): void;
}

export function providerRegistrar(_options: ProviderRegistrarOptions): ProviderRegistrar {
  throw new Error("Not built yet.");
}
