import { BonsaiError } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  canThink,
  definedFields,
  localProviders,
  type ProviderConfig,
} from "../model.ts";
import { scenarioModel } from "../scripted/scenario.ts";
import { withThinkingField } from "../thinking.ts";
import { type AddedProvider, builtInCatalogue, type CatalogueData, withProvider } from "./catalogue-data.ts";
import { divideReference, resolveReference } from "./model-reference.ts";
import { withModelsFile } from "./models-file.ts";
import { serverSizes, serverTimeout } from "./server-models.ts";

interface LoadCatalogueOptions {
  /** Bonsai's home folder: `<home>/models.json` adds and changes providers and models. */
  home: string;
  /** `OLLAMA_HOST` moves the built-in provider `ollama`. */
  env: Readonly<Record<string, string | undefined>>;
  /** Gets the error of an invalid `models.json`, which is ignored then. Default: throws the error. */
  onUnusable?: (error: BonsaiError) => void;
}

interface FindModelOptions {
  /** The keys of providers. Models with a key count before others with the same name. */
  apiKey?: ((provider: ProviderConfig) => string | undefined) | undefined;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/**
 * The known models and providers.
 *
 * Invariant: the order in which additions are removed does not matter.
 */
export class Catalogue {
  readonly #read: () => CatalogueData;
  #base: CatalogueData;
  #added: readonly AddedProvider[] = [];
  #data: CatalogueData;

  constructor(read: () => CatalogueData) {
    this.#read = read;
    this.#base = read();
    this.#data = this.#base;
  }

  /** The day of the built-in prices and sizes, as `2026-11-10`. */
  get asOf(): string {
    return this.#data.asOf;
  }

  /** A new list after each change. */
  get providers(): readonly ProviderConfig[] {
    return this.#data.providers;
  }

  /** A new list after each change. */
  get models(): readonly CatalogueModel[] {
    return this.#data.models;
  }

  /**
   * Finds the model for `provider/id`, or for an id or name that only one provider has. An unknown id of a known provider
   * works: its window comes from the server (within 1.5 s), else it stays unknown.
   * `scripted/PATH` is the model of a scenario file.
   * @throws BonsaiError `model_unknown`, `model_ambiguous`, `model_needs_key`, `provider_unknown`
   */
  readonly find = async (reference: string, options: FindModelOptions = {}): Promise<CatalogueModel> => {
    const resolved = resolveReference(reference, this.#data, options.apiKey);
    const model =
      "model" in resolved ? resolved.model : modelNotInCatalogue(resolved.provider, resolved.id, this.models);
    if (model.api === "scripted") return scripted(model);
    const isAskable = !model.contextWindow && model.api !== "extension" && !model.hasOwnClient;
    return isAskable ? withServerSizes(model, options) : model;
  };

  /**
   * Takes a thinking level off the end of a reference: `provider/id:high`. Keeps colons of the model, as in
   * `ollama/llama3:8b`, and a level at the end of a known model's name.
   */
  divide(reference: string): ReturnType<typeof divideReference> {
    return divideReference(reference, this.models);
  }

  /** Adds or changes a provider. The latest addition counts. Returns a function that removes it. */
  add(provider: AddedProvider): () => void {
    const entry = { ...provider };
    this.#change([...this.#added, entry]);
    return () => this.#change(this.#added.filter((each) => each !== entry));
  }

  /**
   * Reads `models.json` again. Additions stay.
   * @throws BonsaiError `models_unreadable`, `models_invalid`; the catalogue is unchanged then
   */
  reload(): void {
    this.#base = this.#read();
    this.#change(this.#added);
  }

  #change(added: readonly AddedProvider[]): void {
    this.#added = added;
    this.#data = added.reduce(withProvider, this.#base);
  }
}

/** The provider of scenario files. Its ids are their paths. */
const scenarios: ProviderConfig = { provider: "scripted", api: "scripted", baseUrl: "" };

/**
 * Loads the built-in catalogue and the usual local servers, with the changes of the user's `models.json`.
 * @throws BonsaiError `models_unreadable`, `models_invalid`
 */
export async function loadCatalogue({ home, env, onUnusable }: LoadCatalogueOptions): Promise<Catalogue> {
  const builtIn = await builtInCatalogue();
  const base = { ...builtIn, providers: [...builtIn.providers, ...localProviders(env), scenarios] };
  return new Catalogue(() => {
    try {
      return withModelsFile(base, home, env);
    } catch (error) {
      if (onUnusable === undefined || !BonsaiError.is(error)) throw error;
      onUnusable(error);
      return base;
    }
  });
}

/** Accepts images and can think if all known models of the provider do. */
function modelNotInCatalogue(
  provider: ProviderConfig,
  id: string,
  models: readonly CatalogueModel[],
): CatalogueModel {
  const siblings = models.filter((model) => model.provider === provider.provider);
  const all = (has: (model: CatalogueModel) => boolean) => siblings.length > 0 && siblings.every(has);
  return withThinkingField({
    ...provider,
    id,
    name: id,
    input: all(({ input }) => input.includes("image")) ? ["text", "image"] : ["text"],
    reasoning: canThink(provider.compat) || all(({ reasoning }) => reasoning),
  });
}

/** The entry in `models.json` counts before the scenario file. */
function scripted(model: CatalogueModel): CatalogueModel {
  const played = scenarioModel(model.baseUrl || model.id);
  return { ...played, ...definedFields(model), baseUrl: played.baseUrl };
}

async function withServerSizes(
  model: CatalogueModel,
  { apiKey, fetch }: FindModelOptions,
): Promise<CatalogueModel> {
  const signal = serverTimeout();
  const sizes = await serverSizes({ provider: model, apiKey: apiKey?.(model), fetch, signal }, model.id);
  return {
    ...model,
    contextWindow: sizes.contextWindow,
    maxOutputTokens: model.maxOutputTokens ?? sizes.maxOutputTokens,
  };
}
