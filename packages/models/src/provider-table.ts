import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderApi } from "./model.ts";
import type { Provider } from "./provider.ts";

/** Who answers for a provider by its name. */
interface Served {
  name: string;
  provider: Provider;
}

/** Who answers, for one client: somebody who serves the provider, else who speaks its protocol, made when it is first asked for. */
export class ProviderTable {
  readonly #loaders: Readonly<Partial<Record<ProviderApi, ProviderLoader>>>;
  readonly #loaded = new Map<ProviderApi, Promise<Provider>>();
  #served: readonly Served[] = [];

  constructor(own: Partial<Record<ProviderApi, ProviderLoader>> = {}) {
    this.#loaders = { ...builtInProviders, ...own };
  }

  /** Lets somebody answer for a provider until the function returned is called; the latest does. */
  serve(name: string, provider: Provider): () => void {
    const entry = { name, provider };
    this.#served = [...this.#served, entry];
    return () => {
      this.#served = this.#served.filter((each) => each !== entry);
    };
  }

  /**
   * @throws BonsaiError `provider_gone`, `protocol_unknown`; what a loader throws is thrown, and the next request tries
   *   again.
   */
  async provider({ api, provider: name }: Pick<CatalogueModel, "api" | "provider">): Promise<Provider> {
    const served = api === "extension" ? this.#served.findLast((each) => each.name === name) : undefined;
    if (served !== undefined) return served.provider;
    if (api === "extension") throw gone(name);
    return this.#speaker(api);
  }

  async #speaker(api: ProviderApi): Promise<Provider> {
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

function gone(name: string): BonsaiError {
  return new BonsaiError({
    code: "provider_gone",
    message: `Nobody answers for ${name}: the extension that did is not loaded.`,
    hint: "Load it again, or choose another model.",
  });
}

/** Makes what speaks a protocol. */
export type ProviderLoader = () => Promise<Provider>;

/** The protocols that Bonsai speaks by itself. The SDKs are large: each is loaded when it is first used. */
const builtInProviders: Readonly<Record<Exclude<ProviderApi, "extension">, ProviderLoader>> = {
  "anthropic-messages": async () => (await import("./anthropic/anthropic.ts")).anthropicProvider(),
  "openai-responses": async () => (await import("./openai/openai-responses.ts")).openaiResponsesProvider(),
  "openai-chat": async () => (await import("./openai/openai-chat.ts")).openaiChatProvider(),
  scripted: async () => (await import("./scenario-file.ts")).scenarioProvider(),
};
