import { BonsaiError } from "@bonsai-agent/messages";
import { builtInProviders, type ProviderLoader } from "./built-in-providers.ts";
import type { ProviderApi } from "./catalogue-model.ts";
import type { Provider } from "./provider.ts";

/** Who speaks a protocol, for one client: made once, when it is first asked for. */
export class ProviderTable {
  readonly #loaders: Readonly<Partial<Record<ProviderApi, ProviderLoader>>>;
  readonly #loaded = new Map<ProviderApi, Promise<Provider>>();

  constructor(own: Partial<Record<ProviderApi, ProviderLoader>> = {}) {
    this.#loaders = { ...builtInProviders, ...own };
  }

  /** @throws BonsaiError `protocol_unknown`; what a loader throws is thrown, and the next request tries again. */
  async provider(api: ProviderApi): Promise<Provider> {
    const loading = this.#loaded.get(api) ?? this.#load(api);
    this.#loaded.set(api, loading);
    try {
      return await loading;
    } catch (error) {
      this.#loaded.delete(api);
      throw error;
    }
  }

  async #load(api: ProviderApi): Promise<Provider> {
    const load = Object.hasOwn(this.#loaders, api) ? this.#loaders[api] : undefined;
    if (load !== undefined) return load();
    throw new BonsaiError({
      code: "protocol_unknown",
      message: `Nobody speaks the protocol ${JSON.stringify(api)}.`,
      hint: `Allowed for a model's api: ${Object.keys(this.#loaders).join(", ")}.`,
    });
  }
}
