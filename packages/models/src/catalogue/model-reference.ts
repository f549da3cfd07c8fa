import { BonsaiError } from "@bonsai-agent/messages";
import { closestNames } from "@bonsai-agent/messages/host";
import {
  type CatalogueModel,
  isReachable,
  type ProviderConfig,
  referenceOf,
  type ThinkingLevel,
  thinkingLevels,
} from "../model.ts";
import type { CatalogueData } from "./catalogue-data.ts";

/** See `Catalogue.divide`. */
export function divideReference(
  reference: string,
  models: readonly CatalogueModel[],
): { reference: string; thinking?: ThinkingLevel } {
  const wanted = reference.trim();
  const at = wanted.lastIndexOf(":");
  const thinking = thinkingLevels.find((level) => level === wanted.slice(at + 1).toLowerCase());
  if (at < 1 || thinking === undefined) return { reference };
  const hasName = (name: string) => name.toLowerCase() === wanted.toLowerCase();
  if (models.some((model) => hasName(model.id) || hasName(referenceOf(model)))) return { reference };
  return { reference: wanted.slice(0, at), thinking };
}

/** A known model, or an id that a known provider may have. */
type Resolved = { model: CatalogueModel } | { provider: ProviderConfig; id: string };

/**
 * Resolves `provider/id`, an id or a name. With keys, also a part of one if exactly one usable model has it. A provider's
 * name counts before an id that begins with it.
 * @throws BonsaiError `model_unknown`, `model_ambiguous`, `model_needs_key`, `provider_unknown`
 */
export function resolveReference(
  reference: string,
  { providers, models }: CatalogueData,
  apiKey: ((provider: ProviderConfig) => string | undefined) | undefined,
): Resolved {
  const wanted = reference.trim();
  const slash = wanted.indexOf("/");
  const provider = slash < 0 ? undefined : providerNamed(providers, wanted.slice(0, slash));
  if (provider !== undefined) return modelOf(provider, wanted.slice(slash + 1), models);
  const exact = exactMatches(wanted, models);
  const found = exact.length > 0 || apiKey === undefined ? exact : partMatches(wanted, models);
  const usable = found.filter((model) => apiKey !== undefined && isReachable(model, { key: apiKey }));
  const [first, ...others] = usable.length > 0 ? usable : exact;
  if (first !== undefined && others.length === 0) return { model: first };
  if (first !== undefined) throw ambiguous(wanted, [first, ...others]);
  if (found.length > 0) throw needsKey(wanted, found);
  throw slash > 0 ? unknownProvider(wanted, providers, models) : unknownModel(wanted, models);
}

function providerNamed(providers: readonly ProviderConfig[], name: string): ProviderConfig | undefined {
  return (
    providers.find(({ provider }) => provider === name) ??
    providers.find(({ provider }) => provider.toLowerCase() === name.toLowerCase())
  );
}

function modelOf(provider: ProviderConfig, id: string, models: readonly CatalogueModel[]): Resolved {
  const own = models.filter((model) => model.provider === provider.provider);
  if (id === "") throw unknownModel(`${provider.provider}/`, own);
  const model =
    own.find((each) => each.id === id) ?? own.find((each) => each.id.toLowerCase() === id.toLowerCase());
  return model === undefined ? { provider, id } : { model };
}

/** By id, else by id in any case, else by name. */
function exactMatches(wanted: string, models: readonly CatalogueModel[]): CatalogueModel[] {
  const lower = wanted.toLowerCase();
  const ways = [
    (model: CatalogueModel) => model.id === wanted,
    (model: CatalogueModel) => model.id.toLowerCase() === lower,
    (model: CatalogueModel) => model.name.toLowerCase() === lower,
  ];
  return ways.map((way) => models.filter(way)).find((found) => found.length > 0) ?? [];
}

/** The models whose reference or name contains each word. */
function partMatches(wanted: string, models: readonly CatalogueModel[]): CatalogueModel[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return models.filter((model) => {
    const text = `${referenceOf(model)} ${model.name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const MAX_SHOWN = 5;

function ambiguous(wanted: string, found: readonly CatalogueModel[]): BonsaiError {
  const all = found.map(referenceOf);
  return new BonsaiError({
    code: "model_ambiguous",
    message: `${JSON.stringify(wanted)} matches ${found.length} models: ${joinReferences(all)}.`,
    hint: `Add the provider, for example ${all[0]}.`,
  });
}

function needsKey(wanted: string, found: readonly CatalogueModel[]): BonsaiError {
  const variables = [...new Set(found.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []))];
  const [provider] = found.map((model) => model.provider);
  const isLogin = variables.length === 0;
  const lacking = isLogin ? "you are not logged in" : `the API key is missing: ${variables.join(" or ")}`;
  return new BonsaiError({
    code: "model_needs_key",
    message: `${JSON.stringify(wanted)} matches ${joinReferences(found.map(referenceOf))}, but ${lacking}.`,
    hint: isLogin
      ? `Run \`bonsai login ${provider}\`, or /login ${provider} in bonsai.`
      : `Set the variable, or store a key with \`bonsai login ${provider}\` or /login ${provider}.`,
  });
}

function unknownModel(wanted: string, models: readonly CatalogueModel[]): BonsaiError {
  return new BonsaiError({
    code: "model_unknown",
    message: `Unknown model ${JSON.stringify(wanted)}.${similar("names", wanted, models)}`,
    hint: "Run `bonsai models --all` to list models. For a model that is not listed, write PROVIDER/ID.",
  });
}

function unknownProvider(
  wanted: string,
  providers: readonly ProviderConfig[],
  models: readonly CatalogueModel[],
): BonsaiError {
  const name = wanted.slice(0, wanted.indexOf("/"));
  const known = providers.map(({ provider }) => provider).join(", ");
  return new BonsaiError({
    code: "provider_unknown",
    message: `Unknown provider ${JSON.stringify(name)}. Known providers: ${known}.${similar("models", wanted, models)}`,
    hint: "Use a known provider, or add yours to models.json with its baseUrl.",
  });
}

function similar(kind: string, wanted: string, models: readonly CatalogueModel[]): string {
  const near = closestNames(wanted, models.map(referenceOf), MAX_SHOWN);
  return near.length === 0 ? "" : ` Similar ${kind}: ${joinReferences(near)}.`;
}

function joinReferences(references: readonly string[]): string {
  const shown = references.slice(0, MAX_SHOWN).join(", ");
  return references.length > MAX_SHOWN ? `${shown}, …` : shown;
}
