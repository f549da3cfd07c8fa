import type { ModelPrices } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelCompat, ProviderApi, ProviderConfig } from "../model.ts";
import { withThinkingField } from "../thinking.ts";

export interface CatalogueData {
  asOf: string;
  providers: readonly ProviderConfig[];
  models: readonly CatalogueModel[];
}

/** Loads the built-in catalogue. */
export async function builtInCatalogue(): Promise<CatalogueData> {
  const [{ modelsAsOf, modelsData }, { moreModelsData }] = await Promise.all([
    import("./models-data.ts"),
    import("./more-models-data.ts"),
  ]);
  const providers: ProviderConfig[] = [];
  const models: CatalogueModel[] = [];
  for (const line of `${modelsData}${moreModelsData}`.split("\n")) {
    if (line === "") continue;
    if (line.startsWith(" ")) models.push(modelOf(line, providers.at(-1)!));
    else providers.push(providerOf(line));
  }
  return { asOf: modelsAsOf, providers, models };
}

function providerOf(line: string): ProviderConfig {
  const [provider = "", api, baseUrl = "", apiKeyEnv] = line.split(" ");
  return { provider, api: api as ProviderApi, baseUrl, apiKeyEnv: apiKeyEnv === "-" ? undefined : apiKeyEnv };
}

function modelOf(line: string, provider: ProviderConfig): CatalogueModel {
  const [id = "", window, cap, kinds = "", input, output, cacheRead, cacheWrite, ...name] = line
    .trimStart()
    .split(" ");
  const abilities = kinds.split("+");
  return {
    ...provider,
    id,
    name: name.join(" "),
    contextWindow: known(window),
    maxOutputTokens: known(cap),
    input: abilities.includes("image") ? ["text", "image"] : ["text"],
    reasoning: abilities.includes("thinking"),
    usdPerMillionTokens: pricesOf([input, output, cacheRead, cacheWrite].map(known)),
  };
}

function known(word: string | undefined): number | undefined {
  return word === "-" ? undefined : Number(word);
}

function pricesOf([input, output, cacheRead, cacheWrite]: (number | undefined)[]): ModelPrices | undefined {
  if (input === undefined || output === undefined) return undefined;
  return { input, output, cacheRead: cacheRead ?? input, cacheWrite: cacheWrite ?? input };
}

/** A model of an added provider. Missing fields are its provider's, or those of a plain text model. */
export type AddedModel = Partial<Omit<CatalogueModel, "id" | "provider">> & { id: string };

/** A new provider, or a change of a known one. */
export interface AddedProvider extends Partial<Omit<ProviderConfig, "provider">> {
  /** The name before the slash in `provider/id`. */
  provider: string;
  /** Replace the provider's models. Default: its models stay, with the changes. */
  models?: readonly AddedModel[] | undefined;
}

/**
 * A catalogue with additions. The latest one counts.
 *
 * Invariant: the order in which additions are removed does not matter.
 */
export class AddedProviders {
  #base: CatalogueData;
  #added: readonly AddedProvider[] = [];
  #data: CatalogueData;

  constructor(base: CatalogueData) {
    this.#base = base;
    this.#data = base;
  }

  get data(): CatalogueData {
    return this.#data;
  }

  /** Returns a function that removes the addition. A second call does nothing. */
  add(addition: AddedProvider): () => void {
    const entry = { ...addition };
    this.#change([...this.#added, entry]);
    return () => this.#change(this.#added.filter((each) => each !== entry));
  }

  /** Replaces the catalogue. Additions stay. */
  rebase(base: CatalogueData): void {
    this.#base = base;
    this.#change(this.#added);
  }

  #change(added: readonly AddedProvider[]): void {
    this.#added = added;
    this.#data = added.reduce(withProvider, this.#base);
  }
}

function withProvider(data: CatalogueData, { models: added, ...given }: AddedProvider): CatalogueData {
  const below = data.providers.find(({ provider }) => provider === given.provider);
  const config: Partial<ProviderConfig> = mergedConfig(below ?? {}, given);
  // The changed provider may be gone.
  if (!isWhole(config)) return data;
  const own = added?.map((model) => addedModel(model, config)) ?? withProviderFields(data.models, given);
  return {
    ...data,
    providers:
      below === undefined
        ? [...data.providers, config]
        : data.providers.map((each) => (each === below ? config : each)),
    models: [...data.models.filter(({ provider }) => provider !== config.provider), ...own],
  };
}

/** Merges two configurations. Adds headers up. */
function mergedConfig<Below extends Partial<ProviderConfig>, Given extends Partial<ProviderConfig>>(
  below: Below,
  given: Given,
): Below & Given {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given;
  const headers = { ...below.headers, ...given.headers };
  return { ...below, ...set, ...(Object.keys(headers).length > 0 && { headers }) };
}

function isWhole(config: Partial<ProviderConfig>): config is ProviderConfig {
  return config.api !== undefined && config.baseUrl !== undefined;
}

/** Applies a change of a provider to its models. */
function withProviderFields(
  models: readonly CatalogueModel[],
  given: Omit<AddedProvider, "models">,
): CatalogueModel[] {
  return models
    .filter(({ provider }) => provider === given.provider)
    .map((model) => ({ ...mergedConfig(model, given), ...withCompat(given.compat, model.compat) }));
}

function addedModel(model: AddedModel, config: ProviderConfig): CatalogueModel {
  const plain = { name: model.id, input: ["text" as const], reasoning: false };
  return withThinkingField({
    ...plain,
    ...mergedConfig(config, model),
    id: model.id,
    ...withCompat(config.compat, model.compat),
  });
}

/** Merges settings. The later ones count. */
export function withCompat(...parts: readonly (ModelCompat | undefined)[]): { compat?: ModelCompat } {
  const compat: ModelCompat = Object.assign({}, ...parts);
  return Object.keys(compat).length === 0 ? {} : { compat };
}
