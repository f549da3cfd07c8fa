import { BonsaiError } from "@bonsai-agent/messages";
import { nearest } from "@bonsai-agent/messages/nearest";
import { isReachable } from "../keys/keys.ts";
import {
  type CatalogueModel,
  canThink,
  localProviders,
  type ProviderConfig,
  referenceOf,
  type ThinkingLevel,
  thinkingLevels,
} from "../model.ts";
import { scenarioModel } from "../scripted/scenario-file.ts";
import {
  type AddedProvider,
  AddedProviders,
  builtInCatalogue,
  type CatalogueData,
} from "./catalogue-data.ts";
import { catalogueOverrides, mergedCatalogue } from "./catalogue-file.ts";
import { serverSizes } from "./server-window.ts";

/** Where the catalogue is read from. */
export interface LoadCatalogueOptions {
  /** Bonsai's home folder: `<home>/models.json` adds and changes providers and models. */
  home: string;
  /** `OLLAMA_HOST` moves the built-in provider `ollama`. */
  env: Readonly<Record<string, string | undefined>>;
  /** Told of a `models.json` that cannot be used, which is then left aside. Default: it is thrown */
  onUnusable?: (error: BonsaiError) => void;
}

/** How a model that is not listed is asked for. */
export interface FindModelOptions {
  /** Ends the question to the server; `find` then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Tokens; the window of a model for which neither the catalogue nor its server tells one. */
  contextWindow?: number | undefined;
  /**
   * The provider's key, for servers that want one even to list what they serve, and to know which models can be asked: of
   * several that a name can mean, those go before the others.
   */
  apiKey?: ((provider: ProviderConfig) => string | undefined) | undefined;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** A reference to a model without what stood behind it. */
export interface DividedReference {
  reference: string;
  /** Absent where none was named. */
  thinking?: ThinkingLevel;
}

/** The models that are known by name, and how to come by one that is not. */
export interface Catalogue {
  /** The day of the built-in prices and sizes, as `2026-11-10`. */
  asOf: string;
  /** As of now: another list after each addition. */
  readonly providers: readonly ProviderConfig[];
  /** As of now: another list after each addition. */
  readonly models: readonly CatalogueModel[];
  /**
   * The model for `provider/id`, or for an id or name that one provider alone has. An unknown id of a known provider
   * works: its window is asked from the server (1.5 s at most), else it is `contextWindow`, else it stays unknown.
   * `scripted/PATH` is the model of a scenario file.
   * @throws BonsaiError `model_unknown`, `model_ambiguous`, `model_needs_key`, `provider_unknown`
   */
  find(reference: string, options?: FindModelOptions): Promise<CatalogueModel>;
  /**
   * Takes a level of thinking off the end of a reference: `provider/id:high`. Colons of the model itself stay, as in
   * `ollama/llama3:8b`; so does a last part that is a level where a known model is called so.
   */
  divide(reference: string): DividedReference;
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
export async function loadCatalogue({ home, env, onUnusable }: LoadCatalogueOptions): Promise<Catalogue> {
  const builtIn = await builtInCatalogue();
  const base = { ...builtIn, providers: [...builtIn.providers, ...localProviders(env), scenarios] };
  const merged = () => {
    try {
      return mergedCatalogue(base, catalogueOverrides(home, env));
    } catch (error) {
      if (onUnusable === undefined || !BonsaiError.is(error)) throw error;
      onUnusable(error);
      return base;
    }
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
    divide: (reference) => divided(reference, added.data.models),
    find: (reference, options) => findModel(added.data, reference, options),
    add: (provider) => added.add(provider),
    reload: () => added.rebase(merged()),
  };
}

/** The provider whose ids are paths of scenario files. */
const scenarios: ProviderConfig = { provider: "scripted", api: "scripted", baseUrl: "" };

function divided(reference: string, models: readonly CatalogueModel[]): DividedReference {
  const wanted = reference.trim();
  const at = wanted.lastIndexOf(":");
  const thinking = thinkingLevels.find((level) => level === wanted.slice(at + 1).toLowerCase());
  if (at < 1 || thinking === undefined) return { reference };
  const isCalled = (name: string) => name.toLowerCase() === wanted.toLowerCase();
  if (models.some((model) => isCalled(model.id) || isCalled(referenceOf(model)))) return { reference };
  return { reference: wanted.slice(0, at), thinking };
}

async function findModel(
  data: CatalogueData,
  reference: string,
  options: FindModelOptions = {},
): Promise<CatalogueModel> {
  const resolved = resolveReference(reference, data, options);
  const model = "model" in resolved ? resolved.model : unlisted(resolved.provider, resolved.id, data.models);
  if (model.api === "scripted") return scripted(model);
  // What an extension answers for, or reaches in its own way, has no server to ask.
  const isAsked = !model.contextWindow && model.api !== "extension" && !model.hasOwnClient;
  return isAsked ? withServerSizes(model, options) : model;
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
    ...siblingCompat(provider, siblings),
  };
}

/** What is said of all that it serves in the same way: how they are told to think. */
function siblingCompat(
  { compat }: ProviderConfig,
  [first, ...others]: readonly CatalogueModel[],
): Pick<CatalogueModel, "compat"> {
  const thinking = first?.compat?.thinking;
  const isCommon = thinking !== undefined && others.every((each) => each.compat?.thinking === thinking);
  return isCommon ? { compat: { thinking, ...compat } } : {};
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
  const served = await serverSizes(
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
    contextWindow: served.contextWindow ?? contextWindow,
    maxOutputTokens: model.maxOutputTokens ?? served.maxOutputTokens,
  };
}

/** What a reference means: a known model, or an id that a known provider may have. */
type Resolved = { model: CatalogueModel } | { provider: ProviderConfig; id: string };

const shownMatches = 5;

/**
 * Reads `provider/id`, a bare id, or a name; where the keys are known, also a part of one that a single model has which can
 * be asked. A provider's own name goes before an id that begins so.
 * @throws BonsaiError `model_unknown`, `model_ambiguous`, `model_needs_key`, `provider_unknown`
 */
function resolveReference(
  reference: string,
  { providers, models }: CatalogueData,
  { apiKey }: FindModelOptions,
): Resolved {
  const wanted = reference.trim();
  const slash = wanted.indexOf("/");
  const provider = slash < 0 ? undefined : named(providers, wanted.slice(0, slash));
  if (provider !== undefined) return ofProvider(provider, wanted.slice(slash + 1), models);
  const found = bareMatches(wanted, models);
  const begun = found.length > 0 || apiKey === undefined ? found : partMatches(wanted, models);
  const usable = begun.filter((model) => apiKey !== undefined && isReachable(model, { key: apiKey }));
  const [first, ...others] = usable.length > 0 ? usable : found;
  if (first !== undefined && others.length === 0) return { model: first };
  if (first !== undefined) throw ambiguous(wanted, [first, ...others]);
  if (begun.length > 0) throw needsKey(wanted, begun);
  throw slash > 0 ? unknownProvider(wanted, providers, models) : unknownModel(wanted, models);
}

/** Each word stands in the reference or the name. */
function partMatches(wanted: string, models: readonly CatalogueModel[]): CatalogueModel[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return models.filter((model) => {
    const text = `${referenceOf(model)} ${model.name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function named(providers: readonly ProviderConfig[], name: string): ProviderConfig | undefined {
  return (
    providers.find(({ provider }) => provider === name) ??
    providers.find(({ provider }) => provider.toLowerCase() === name.toLowerCase())
  );
}

function ofProvider(provider: ProviderConfig, id: string, models: readonly CatalogueModel[]): Resolved {
  const own = models.filter((model) => model.provider === provider.provider);
  if (id === "") throw unknownModel(`${provider.provider}/`, own);
  const model =
    own.find((each) => each.id === id) ?? own.find((each) => each.id.toLowerCase() === id.toLowerCase());
  return model === undefined ? { provider, id } : { model };
}

/** The exact id, else the id in any case, else the name. */
function bareMatches(wanted: string, models: readonly CatalogueModel[]): CatalogueModel[] {
  const lower = wanted.toLowerCase();
  const ways = [
    (model: CatalogueModel) => model.id === wanted,
    (model: CatalogueModel) => model.id.toLowerCase() === lower,
    (model: CatalogueModel) => model.name.toLowerCase() === lower,
  ];
  return ways.map((way) => models.filter(way)).find((found) => found.length > 0) ?? [];
}

function ambiguous(wanted: string, found: readonly CatalogueModel[]): BonsaiError {
  const all = found.map(referenceOf);
  return new BonsaiError({
    code: "model_ambiguous",
    message: `${quoted(wanted)} matches ${found.length} models: ${listed(all)}.`,
    hint: `Add the provider, for example ${all[0]}.`,
  });
}

function needsKey(wanted: string, found: readonly CatalogueModel[]): BonsaiError {
  const variables = [...new Set(found.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []))];
  const lacking =
    variables.length === 0 ? "you are not logged in" : `the API key is missing: ${variables.join(" or ")}`;
  const [provider] = found.map((model) => model.provider);
  return new BonsaiError({
    code: "model_needs_key",
    message: `${quoted(wanted)} matches ${listed(found.map(referenceOf))}, but ${lacking}.`,
    hint:
      variables.length === 0
        ? `Run \`bonsai login ${provider}\`, or /login ${provider} in bonsai.`
        : `Set the variable, or store a key with \`bonsai login ${provider}\` or /login ${provider}.`,
  });
}

function unknownModel(wanted: string, models: readonly CatalogueModel[]): BonsaiError {
  const near = nearest(wanted, models.map(referenceOf), shownMatches);
  return new BonsaiError({
    code: "model_unknown",
    message: `Unknown model ${quoted(wanted)}.${near.length === 0 ? "" : ` Similar names: ${listed(near)}.`}`,
    hint: "Run `bonsai models --all` to list models. For a model that is not listed, write PROVIDER/ID.",
  });
}

function unknownProvider(
  wanted: string,
  providers: readonly ProviderConfig[],
  models: readonly CatalogueModel[],
): BonsaiError {
  const near = nearest(wanted, models.map(referenceOf), shownMatches);
  const known = providers.map(({ provider }) => provider).join(", ");
  return new BonsaiError({
    code: "provider_unknown",
    message: `Unknown provider ${quoted(wanted.slice(0, wanted.indexOf("/")))}. Known providers: ${known}.${near.length === 0 ? "" : ` Similar models: ${listed(near)}.`}`,
    hint: "Use a known provider, or add yours to models.json with its baseUrl.",
  });
}

function listed(references: readonly string[]): string {
  const shown = references.slice(0, shownMatches).join(", ");
  return references.length > shownMatches ? `${shown}, …` : shown;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
