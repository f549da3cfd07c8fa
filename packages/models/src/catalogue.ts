import { builtInCatalogue } from "./catalogue-data.ts";
import type { CatalogueModel, ProviderConfig } from "./catalogue-model.ts";

export interface LoadCatalogueOptions {
  /** Bonsai's home folder: `<home>/models.json` overrides and adds providers and models. */
  home: string;
  /** `OLLAMA_HOST` moves the built-in provider `ollama`. */
  env: Readonly<Record<string, string | undefined>>;
}

export interface FindModelOptions {
  signal?: AbortSignal | undefined;
  /** Tokens; what the settings say of a model whose window neither the catalogue nor its server tells. */
  contextWindow?: number | undefined;
  /** The key for the question to the server, where it wants one. */
  apiKey?: string | undefined;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** The models that are known by name, and how to come by one that is not. */
export interface Catalogue {
  /** The day of the built-in prices and sizes, as `2026-11-10`. */
  asOf: string;
  providers: readonly ProviderConfig[];
  models: readonly CatalogueModel[];
  /**
   * The model for `provider/id`, or for an id or name that only one provider has. An unknown id of a known provider
   * works: its window is asked from the server (1.5 s at most), else it is `contextWindow`, else unknown.
   * @throws BonsaiError `model_unknown`, `model_ambiguous`, `provider_unknown`
   */
  find(reference: string, options?: FindModelOptions): Promise<CatalogueModel>;
}

/**
 * The built-in catalogue with the user's `models.json` laid on it.
 * @throws BonsaiError `models_unreadable`, `models_invalid`
 */
export async function loadCatalogue(_options: LoadCatalogueOptions): Promise<Catalogue> {
  const { asOf, providers, models } = await builtInCatalogue();
  return {
    asOf,
    providers,
    models,
    find: async (reference) => {
      const found = models.find(({ provider, id }) => reference === `${provider}/${id}`);
      if (found === undefined) throw new TypeError(`No model ${reference}`);
      return found;
    },
  };
}
