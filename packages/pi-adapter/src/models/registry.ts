import type { ModelRegistry } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel } from "@bonsai-agent/models";
import { overlay } from "../pi-extension.ts";
import { bonsaiModel, type GivenModel, piModel } from "./model.ts";
import { bonsaiContext, bonsaiOptions, type PiAskOptions, type PiContext } from "./requests.ts";
import { piStream } from "./streams.ts";

/** pi's methods that log a user in or change what the program is set up with. */
const unavailable = {
  getProvider: "Use find, getAll or complete of ctx.modelRegistry.",
  getProviderAuth: "Use ctx.modelRegistry.getApiKeyAndHeaders(model).",
  getRegisteredProviderConfig: "Keep the options that you pass to registerProvider.",
  getRegisteredNativeProvider: "Keep the options that you pass to registerProvider.",
  getRegisteredProviderIds: "Keep the names that you pass to registerProvider.",
  registerProvider: "Use registerProvider of the API object.",
  unregisterProvider: "Use unregisterProvider of the API object.",
} as const;

/** The registry with pi's shapes of models, requests and answers; for extensions that were written for pi. */
export function piRegistry(registry: ModelRegistry): ModelRegistry {
  const ask = (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
    registry.stream(bonsaiModel(model), bonsaiContext(context), bonsaiOptions(options));
  const streamed = (model: GivenModel, context: PiContext, options?: PiAskOptions) =>
    piStream(ask(model, context, options));
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
