import type { ModelPrices } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  canThink,
  definedFields,
  type ModelCompat,
  type ProviderApi,
  type ProviderConfig,
} from "../model.ts";
import { withThinkingField } from "../thinking.ts";
import { vendorCacheRules } from "./cache-rules.ts";

export interface CatalogueData {
  asOf: string;
  providers: readonly ProviderConfig[];
  models: readonly CatalogueModel[];
}

/** Loads the built-in catalogue. */
export async function builtInCatalogue(): Promise<CatalogueData> {
  const [{ modelsAsOf, modelsData }, { openrouterModelsData }, { moreModelsData }] = await Promise.all([
    import("./models-data.ts"),
    import("./openrouter-models-data.ts"),
    import("./more-models-data.ts"),
  ]);
  const providers: ProviderConfig[] = [];
  const models: CatalogueModel[] = [];
  for (const line of `${modelsData}${openrouterModelsData}${moreModelsData}`.split("\n")) {
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
    ...definedFields({ cacheRules: vendorCacheRules({ provider: provider.provider, id }) }),
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

/** A change of a provider, as extensions and `models.json` make it. */
export interface ProviderChange extends AddedProvider {
  models?: readonly (AddedModel & { isKnownOnly?: boolean })[] | undefined;
  /** Changes and adds to the provider's models instead of replacing them. */
  keepsModels?: boolean;
}

/** A provider of a `models.json`. */
export interface FileProvider extends ProviderChange {
  /** The place in the file, for errors. */
  place?: string;
  /** Ignores the provider if Bonsai does not know it. */
  mayBeUnknown?: boolean;
}

/** Applies a change. A change without protocol or address of an unknown provider has no effect. */
export function withProvider(data: CatalogueData, change: ProviderChange): CatalogueData {
  const { models: changes = [], keepsModels = change.models === undefined, ...given } = change;
  const below = data.providers.find(({ provider }) => provider === given.provider);
  const config: Partial<ProviderConfig> = mergedConfig(below ?? {}, given);
  if (!isWhole(config)) return data;
  const own = new Map<string, CatalogueModel>();
  for (const model of keepsModels ? modelsOf(data, config) : [])
    own.set(model.id, { ...mergedConfig(model, given), ...withCompat(given.compat, model.compat) });
  for (const { isKnownOnly = false, ...model } of changes)
    if (!isKnownOnly || own.has(model.id)) own.set(model.id, changedModel(model, own.get(model.id), config));
  const providers =
    below === undefined
      ? [...data.providers, config]
      : data.providers.map((each) => (each === below ? config : each));
  const models = providers.flatMap((each) => (each === config ? [...own.values()] : modelsOf(data, each)));
  return { ...data, providers, models };
}

function modelsOf({ models }: CatalogueData, { provider }: ProviderConfig): CatalogueModel[] {
  return models.filter((model) => model.provider === provider);
}

/** A known thinking model keeps its way of thinking. */
function changedModel(
  change: AddedModel,
  known: CatalogueModel | undefined,
  config: ProviderConfig,
): CatalogueModel {
  const compat = withCompat(config.compat, known?.compat, change.compat);
  const plain = { name: change.id, input: ["text" as const], reasoning: canThink(compat.compat), ...config };
  const model = { ...mergedConfig(known ?? plain, change), id: change.id, ...compat };
  return known?.reasoning === true ? model : withThinkingField(model);
}

/** Merges two configurations. Adds headers up. */
function mergedConfig<Below extends Partial<ProviderConfig>, Given extends Partial<ProviderConfig>>(
  below: Below,
  given: Given,
): Below & Given {
  const headers = { ...below.headers, ...given.headers };
  return {
    ...below,
    ...(definedFields(given) as Given),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

function isWhole(config: Partial<ProviderConfig>): config is ProviderConfig {
  return config.api !== undefined && config.baseUrl !== undefined;
}

/** Merges settings. The later ones count. */
function withCompat(...parts: readonly (ModelCompat | undefined)[]): { compat?: ModelCompat } {
  const compat: ModelCompat = Object.assign({}, ...parts);
  return Object.keys(compat).length === 0 ? {} : { compat };
}
