import type { CatalogueModel, ProviderConfig } from "../catalogue-model.ts";
import { canThink } from "../model-compat.ts";
import { scenarioModel } from "../scripted/scenario-file.ts";
import { type AddedProvider, AddedProviders } from "./added-providers.ts";
import { builtInCatalogue, type CatalogueData } from "./catalogue-data.ts";
import { catalogueOverrides } from "./catalogue-file.ts";
import { resolveReference } from "./catalogue-find.ts";
import { mergedCatalogue } from "./catalogue-merge.ts";
import { localProviders } from "./local-providers.ts";
import { serverSizes } from "./server-window.ts";

export interface LoadCatalogueOptions {
  /** Bonsai's home folder: `<home>/models.json` adds and changes providers and models. */
  home: string;
  /** `OLLAMA_HOST` moves the built-in provider `ollama`. */
  env: Readonly<Record<string, string | undefined>>;
}

export interface FindModelOptions {
  /** Ends the question to the server; `find` then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Tokens; the window of a model for which neither the catalogue nor its server tells one. */
  contextWindow?: number | undefined;
  /** The provider's key, for servers that want one even to list what they serve. */
  apiKey?: ((provider: ProviderConfig) => string | undefined) | undefined;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** The models that are known by name, and how to come by one that is not. */
export interface Catalogue {
  /** The day of the built-in prices and sizes, as `2026-11-10`. */
  asOf: string;
  /** As of now: another list after each addition. */
  readonly providers: readonly ProviderConfig[];
  readonly models: readonly CatalogueModel[];
  /**
   * The model for `provider/id`, or for an id or name that one provider alone has. An unknown id of a known provider
   * works: its window is asked from the server (1.5 s at most), else it is `contextWindow`, else it stays unknown.
   * `scripted/PATH` is the model of a scenario file.
   * @throws BonsaiError `model_unknown`, `model_ambiguous`, `provider_unknown`
   */
  find(reference: string, options?: FindModelOptions): Promise<CatalogueModel>;
  /** Adds a provider, or changes one, until the function returned is called. */
  add(provider: AddedProvider): () => void;
  /**
   * Reads `models.json` anew; what was added stays.
   * @throws BonsaiError `models_unreadable`, `models_invalid`; then all is as it was
   */
  reload(): void;
}

/** Long enough for a server abroad, short enough for somebody who waits. */
const serverTimeoutMs = 1_500;

/**
 * The built-in catalogue and the usual local servers, with the user's `models.json` laid on them.
 * @throws BonsaiError `models_unreadable`, `models_invalid`
 */
export async function loadCatalogue({ home, env }: LoadCatalogueOptions): Promise<Catalogue> {
  const builtIn = await builtInCatalogue();
  const base = { ...builtIn, providers: [...builtIn.providers, ...localProviders(env), scenarios] };
  const merged = () => {
    const { file, providers: overrides } = catalogueOverrides(home);
    return mergedCatalogue({ base, overrides, file });
  };
  const added = new AddedProviders(merged());
  return {
    asOf: builtIn.asOf,
    get providers() {
      return added.data.providers;
    },
    get models() {
      return added.data.models;
    },
    find: (reference, options) => findModel(added.data, reference, options),
    add: (provider) => added.add(provider),
    reload: () => added.rebase(merged()),
  };
}

/** The provider whose ids are paths of scenario files. */
const scenarios: ProviderConfig = { provider: "scripted", api: "scripted", baseUrl: "" };

async function findModel(
  data: CatalogueData,
  reference: string,
  options: FindModelOptions = {},
): Promise<CatalogueModel> {
  const resolved = resolveReference(reference, data);
  const model = "model" in resolved ? resolved.model : unlisted(resolved.provider, resolved.id, data.models);
  if (model.api === "scripted") return scripted(model);
  // What an extension answers for has no server to ask.
  return model.contextWindow || model.api === "extension" ? model : withServerSizes(model, options);
}

/** Takes pictures and can think where all of the provider's known models do. */
function unlisted(provider: ProviderConfig, id: string, models: readonly CatalogueModel[]): CatalogueModel {
  const siblings = models.filter((model) => model.provider === provider.provider);
  const all = (has: (model: CatalogueModel) => boolean) => siblings.length > 0 && siblings.every(has);
  return {
    ...provider,
    id,
    name: id,
    input: all(({ input }) => input.includes("image")) ? ["text", "image"] : ["text"],
    reasoning: canThink(provider.compat) || all(({ reasoning }) => reasoning),
  };
}

function scripted(model: CatalogueModel): CatalogueModel {
  const { contextWindow, maxOutputTokens, usdPerMillionTokens, ...given } = model;
  const played = scenarioModel(model.baseUrl || model.id);
  return {
    ...played,
    ...given,
    baseUrl: played.baseUrl,
    contextWindow: contextWindow ?? played.contextWindow,
    maxOutputTokens: maxOutputTokens ?? played.maxOutputTokens,
    usdPerMillionTokens: usdPerMillionTokens ?? played.usdPerMillionTokens,
  };
}

async function withServerSizes(
  model: CatalogueModel,
  { signal, contextWindow, apiKey, fetch }: FindModelOptions,
): Promise<CatalogueModel> {
  const timeout = AbortSignal.timeout(serverTimeoutMs);
  const told = await serverSizes(
    {
      provider: model,
      apiKey: apiKey?.(model),
      fetch,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    },
    model.id,
  );
  signal?.throwIfAborted();
  return {
    ...model,
    contextWindow: told.contextWindow ?? contextWindow,
    maxOutputTokens: model.maxOutputTokens ?? told.maxOutputTokens,
  };
}
