import type { Catalogue } from "./catalogue.ts";
import type { CatalogueModel, ProviderConfig } from "./catalogue-model.ts";
import type { KeyFile, KeyOrigin } from "./keys.ts";

/** A model that a server has at hand. */
export interface ServedModel {
  id: string;
  /** Tokens; absent where the server does not tell. */
  contextWindow?: number | undefined;
}

/** Asks a server what it serves; undefined when it does not answer. */
export type ProbeServer = (provider: ProviderConfig) => Promise<readonly ServedModel[] | undefined>;

/** A model that can be asked now, and where its key comes from. */
export interface UsableModel {
  model: CatalogueModel;
  /** Absent where no key is needed. */
  keyOrigin?: KeyOrigin | undefined;
}

export interface UsableModelsOptions {
  catalogue: Catalogue;
  keys: Pick<KeyFile, "key" | "source">;
  /** Default: `GET {baseUrl}/models`, 400 ms at most. */
  probe?: ProbeServer | undefined;
}

/** The models of all providers that have a key, or need none and answer; providers in the catalogue's order. */
export async function usableModels({ catalogue, keys }: UsableModelsOptions): Promise<UsableModel[]> {
  return catalogue.models
    .filter((model) => keys.key(model) !== undefined)
    .map((model) => ({ model, keyOrigin: keys.source(model) }));
}

/** What to use when nobody named a model: a mid-priced coding model of the first provider with a key, else a local server's first model. */
export async function defaultModel(options: UsableModelsOptions): Promise<UsableModel | undefined> {
  return (await usableModels(options))[0];
}
