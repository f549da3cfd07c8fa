import type { ModelPrices } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderApi, ProviderConfig } from "../model.ts";
import { withThinkingField } from "../thinking.ts";

export interface CatalogueData {
  asOf: string;
  providers: readonly ProviderConfig[];
  models: readonly CatalogueModel[];
}

/** The catalogue that Bonsai comes with; its data are loaded when they are first asked for. */
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

/** Undefined for `-`. */
function known(word: string | undefined): number | undefined {
  return word === "-" ? undefined : Number(word);
}

/** Undefined where one is not known. */
function pricesOf([input, output, cacheRead, cacheWrite]: (number | undefined)[]): ModelPrices | undefined {
  if (input === undefined || output === undefined) return undefined;
  return { input, output, cacheRead: cacheRead ?? input, cacheWrite: cacheWrite ?? input };
}

/** A model of a provider that is added; what is left out is its provider's, or that of a plain text model. */
export type AddedModel = Partial<Omit<CatalogueModel, "id" | "provider">> & { id: string };

/** A provider that comes with a program and goes with it, or a change of one that is known. */
export interface AddedProvider extends Partial<Omit<ProviderConfig, "provider">> {
  /** The name before the slash in `provider/id`. */
  provider: string;
  /** They take the place of the provider's models; without them, those stay and are reached as is said here. */
  models?: readonly AddedModel[] | undefined;
}

/**
 * The catalogue with what was added, latest on top. Owner of the additions.
 * Invariant: after additions are taken away, in whatever order, all is as if only what is left had ever been added.
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

  /** The function returned takes it away again; a second call does nothing. */
  add(addition: AddedProvider): () => void {
    const entry = { ...addition };
    this.#change([...this.#added, entry]);
    return () => this.#change(this.#added.filter((each) => each !== entry));
  }

  /** Another catalogue below; what was added stays. */
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
  const config: Partial<ProviderConfig> = laidOver(below ?? {}, given);
  // A change of what is not there any more changes nothing.
  if (!isWhole(config)) return data;
  const own = added?.map((model) => addedModel(model, config)) ?? reached(data.models, given);
  return {
    ...data,
    providers:
      below === undefined
        ? [...data.providers, config]
        : data.providers.map((each) => (each === below ? config : each)),
    models: [...data.models.filter(({ provider }) => provider !== config.provider), ...own],
  };
}

/** What is said goes before what stands below; headers add up. */
function laidOver<Below extends Partial<ProviderConfig>, Given extends Partial<ProviderConfig>>(
  below: Below,
  given: Given,
): Below & Given {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given;
  const headers = { ...below.headers, ...given.headers };
  return { ...below, ...set, ...(Object.keys(headers).length === 0 ? {} : { headers }) };
}

function isWhole(config: Partial<ProviderConfig>): config is ProviderConfig {
  return config.api !== undefined && config.baseUrl !== undefined;
}

/** A model is reached in the way that its provider is reached now; what is said of it alone stays. */
function reached(models: readonly CatalogueModel[], given: Omit<AddedProvider, "models">): CatalogueModel[] {
  return models
    .filter(({ provider }) => provider === given.provider)
    .map((model) => ({ ...laidOver(model, given), ...withCompat(given, model) }));
}

function addedModel(model: AddedModel, config: ProviderConfig): CatalogueModel {
  const plain = { name: model.id, input: ["text" as const], reasoning: false };
  return withThinkingField({
    ...plain,
    ...laidOver(config, model),
    id: model.id,
    ...withCompat(config, model),
  });
}

function withCompat(...parts: readonly Pick<AddedProvider, "compat">[]): Pick<ProviderConfig, "compat"> {
  const compat = Object.assign({}, ...parts.map((part) => part.compat));
  return Object.keys(compat).length === 0 ? {} : { compat };
}
