import type { ModelRegistry } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { overlay } from "../pi-extension.ts";
import { bonsaiModel, type GivenModel, piModel } from "./model.ts";
import { bonsaiContext, bonsaiOptions, type PiAskOptions, type PiContext } from "./requests.ts";
import { piStream } from "./streams.ts";

/** The registry with pi's shapes of models, requests and answers. */
export function piRegistry(registry: ModelRegistry): ModelRegistry {
  const stream = (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
    piStream(registry.stream(bonsaiModel(model), bonsaiContext(context), bonsaiOptions(options)));
  const auth = (model: GivenModel) => registry.getApiKeyAndHeaders(bonsaiModel(model));
  const modelsOf = (id: string) => registry.getAll().filter(({ provider }) => provider === id);
  return overlay(registry, {
    getAll: () => registry.getAll().map(piModel),
    getAvailable: () => registry.getAvailable().map(piModel),
    find(provider: string, id: string) {
      const model = registry.find(provider, id);
      return model && piModel(model);
    },
    hasConfiguredAuth: (model: GivenModel) => registry.hasConfiguredAuth(bonsaiModel(model)),
    getApiKeyAndHeaders: auth,
    /** Earlier versions of pi have it. */
    async getApiKey(model: GivenModel) {
      const found = await auth(model);
      return found.ok ? found.apiKey : undefined;
    },
    complete: (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
      registry.complete(bonsaiModel(model), bonsaiContext(context), bonsaiOptions(options)),
    ...{ stream, streamSimple: stream },
    refresh: async () => ({ aborted: false, errors: new Map<string, Error>() }),
    getError: () => undefined,
    isUsingOAuth: () => false,
    getProvider(id: string) {
      const models = modelsOf(id).map(piModel);
      return models.length === 0 ? undefined : { id, name: id, getModels: () => models };
    },
    async getProviderAuth(id: string) {
      const [model] = modelsOf(id);
      const found = model && (await auth(model));
      return found?.ok === true ? { auth: found } : undefined;
    },
    // Bonsai does not show an extension the registrations of others.
    getRegisteredProviderConfig: () => undefined,
    getRegisteredNativeProvider: () => undefined,
    getRegisteredProviderIds: () => [],
    getProviderDisplayName: (id: string) => id,
    getProviderAuthStatus: (id: string) => ({
      configured: modelsOf(id).some((model) => registry.hasConfiguredAuth(model)),
    }),
    registerProvider: refusal("registerProvider"),
    unregisterProvider: refusal("unregisterProvider"),
  }) as unknown as ModelRegistry;
}

function refusal(name: string): () => never {
  return () => {
    throw new BonsaiError({
      code: "pi_method_missing",
      message: `Bonsai does not support modelRegistry.${name}.`,
      hint: `Use ${name} of the API object.`,
    });
  };
}
