import type { AddedProvider } from "@bonsai-agent/models";
import type { ProviderOptions } from "../api/provider-options.ts";
import type { OpenedModels } from "./context/opened-models.ts";
import { type CheckedProvider, checkedProvider } from "./providers/checked-provider.ts";
import { streamProvider } from "./providers/stream-provider.ts";

export interface ProviderRegistrarOptions {
  models: OpenedModels;
}

/** Owner of the providers that extensions brought, latest on top. */
export interface ProviderRegistrar {
  /**
   * Adds a provider or changes one. The function returned brings back what it covered; a second call does nothing.
   * @throws BonsaiError `provider_options_invalid`, and what opening the models threw; then nothing has changed
   */
  register(name: string, options: ProviderOptions): () => void;
  /** Undoes all that was registered under the name. */
  unregister(name: string): void;
}

export function providerRegistrar({ models }: ProviderRegistrarOptions): ProviderRegistrar {
  const undos = new Map<string, Set<() => void>>();
  return {
    register(name, options) {
      const { catalogue, keys, client } = models.get();
      const isKnown = catalogue.providers.some(({ provider }) => provider === name);
      const provider = checkedProvider(name, options, { isKnown });
      const steps = [
        ...(provider.apiKey === undefined ? [] : [keys.lend(name, provider.apiKey)]),
        ...(provider.stream === undefined ? [] : [client.serve(name, streamProvider(provider.stream))]),
        catalogue.add(addition(provider)),
      ];
      const own = undos.get(name) ?? new Set();
      undos.set(name, own);
      const undo = () => {
        if (own.delete(undo)) for (const step of steps.reverse()) step();
      };
      own.add(undo);
      return undo;
    },
    unregister(name) {
      for (const undo of [...(undos.get(name) ?? [])].reverse()) undo();
    },
  };
}

function addition({ apiKey: _key, stream: _stream, ...config }: CheckedProvider): AddedProvider {
  return config;
}
