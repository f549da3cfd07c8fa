import type { ModelRegistry } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel } from "@bonsai-agent/models";
import { overlay } from "../pi-extension.ts";
import { bonsaiModel, type GivenModel, piModel } from "./model.ts";
import { bonsaiContext, bonsaiOptions, type PiAskOptions, type PiContext } from "./requests.ts";
import { piStream } from "./streams.ts";

/** pi's methods that change what the program is set up with. */
const unavailable = {
  registerProvider: "Use registerProvider of the API object.",
  unregisterProvider: "Use unregisterProvider of the API object.",
} as const;

/** The registry with pi's shapes of models, requests and answers; for extensions that were written for pi. */
export function piRegistry(registry: ModelRegistry): ModelRegistry {
  const ask = (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
    registry.stream(bonsaiModel(model), bonsaiContext(context), bonsaiOptions(options));
  const streamed = (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
    piStream(ask(model, context, options));
  const modelsOf = (id: string) =>
    registry
      .getAll()
      .filter(({ provider }) => provider === id)
      .map(piModel);
  return overlay(registry, {
    getAll: () => registry.getAll().map(piModel),
    getAvailable: () => registry.getAvailable().map(piModel),
    find: (provider: string, id: string) => optional(registry.find(provider, id)),
    hasConfiguredAuth: (model: GivenModel) => registry.hasConfiguredAuth(bonsaiModel(model)),
    getApiKeyAndHeaders: (model: GivenModel) => registry.getApiKeyAndHeaders(bonsaiModel(model)),
    // Of earlier versions of pi.
    getApiKey: async (model: GivenModel) => {
      const auth = await registry.getApiKeyAndHeaders(bonsaiModel(model));
      return auth.ok ? auth.apiKey : undefined;
    },
    complete: (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
      registry.complete(bonsaiModel(model), bonsaiContext(context), bonsaiOptions(options)),
    stream: streamed,
    streamSimple: streamed,
    refresh: async () => ({ aborted: false, errors: new Map<string, Error>() }),
    getError: () => undefined,
    isUsingOAuth: () => false,
    getProvider(id: string) {
      const models = modelsOf(id);
      return models.length === 0 ? undefined : { id, name: id, getModels: () => models };
    },
    async getProviderAuth(id: string) {
      const [model] = modelsOf(id);
      const auth = model && (await registry.getApiKeyAndHeaders(bonsaiModel(model)));
      return auth?.ok === true ? { auth } : undefined;
    },
    // The options that an extension registered are its own.
    getRegisteredProviderConfig: () => undefined,
    getRegisteredNativeProvider: () => undefined,
    getRegisteredProviderIds: () => [],
    getProviderDisplayName: (provider: string) => provider,
    getProviderAuthStatus: (provider: string) => ({
      configured: registry
        .getAll()
        .some((model) => model.provider === provider && registry.hasConfiguredAuth(model)),
    }),
    ...Object.fromEntries(Object.entries(unavailable).map(([name, hint]) => [name, refusal(name, hint)])),
  }) as unknown as ModelRegistry;
}

function optional(model: CatalogueModel | undefined): CatalogueModel | undefined {
  return model === undefined ? undefined : piModel(model);
}

function refusal(name: string, hint: string): () => never {
  return () => {
    throw new BonsaiError({
      code: "pi_method_missing",
      message: `Bonsai does not support modelRegistry.${name}.`,
      hint,
    });
  };
}
