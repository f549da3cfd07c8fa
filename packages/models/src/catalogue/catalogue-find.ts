import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderConfig } from "../catalogue-model.ts";
import { nearest } from "../nearest.ts";
import type { CatalogueData } from "./catalogue-data.ts";

/** What a reference means: a known model, or an id that a known provider may have. */
export type Resolved = { model: CatalogueModel } | { provider: ProviderConfig; id: string };

const shownMatches = 5;

/**
 * Reads `provider/id`, a bare id, or a name. A provider's own name goes before an id that begins so.
 * @throws BonsaiError `model_unknown`, `model_ambiguous`, `provider_unknown`
 */
export function resolveReference(reference: string, { providers, models }: CatalogueData): Resolved {
  const wanted = reference.trim();
  const slash = wanted.indexOf("/");
  const provider = slash < 0 ? undefined : named(providers, wanted.slice(0, slash));
  if (provider !== undefined) return ofProvider(provider, wanted.slice(slash + 1), models);
  const found = bareMatches(wanted, models);
  if (found.length === 1) return { model: found[0]! };
  if (found.length > 1) throw ambiguous(wanted, found);
  throw slash > 0 ? unknownProvider(wanted, providers, models) : unknownModel(wanted, models);
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
    message: `${quoted(wanted)} is the name of ${found.length} models: ${listed(all)}.`,
    hint: `Name one of them with its provider, like ${all[0]}.`,
  });
}

function unknownModel(wanted: string, models: readonly CatalogueModel[]): BonsaiError {
  const near = nearest(wanted, models.map(referenceOf), shownMatches);
  return new BonsaiError({
    code: "model_unknown",
    message: `No model ${quoted(wanted)} is known.${near.length === 0 ? "" : ` Alike are ${listed(near)}.`}`,
    hint: "`bonsai models --all` lists the known ones. Any other of a known provider works as provider/id.",
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
    message: `No provider ${quoted(wanted.slice(0, wanted.indexOf("/")))} is known; known are ${known}.${near.length === 0 ? "" : ` Models alike are ${listed(near)}.`}`,
    hint: "Add the provider to models.json with its baseUrl, or name a known one.",
  });
}

function referenceOf({ provider, id }: CatalogueModel): string {
  return `${provider}/${id}`;
}

function listed(references: readonly string[]): string {
  const shown = references.slice(0, shownMatches).join(", ");
  return references.length > shownMatches ? `${shown}, …` : shown;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
