import type { ModelPrices } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderApi } from "@bonsai-agent/models";
import { compatOfPi, withThinkingField } from "@bonsai-agent/models/host";

/** A model with pi's names for its sizes and prices too. */
export interface PiModel extends CatalogueModel {
  /** Tokens; 0 where unknown. */
  contextWindow: number;
  /** Tokens of the longest answer; 0 where unknown. */
  maxTokens: number;
  /** US dollars per million tokens. */
  cost: ModelPrices;
}

/** A model of Bonsai, or one that an extension put together. */
export type GivenModel = Pick<CatalogueModel, "provider" | "id"> &
  Partial<Omit<PiModel, "provider" | "id" | "api" | "compat">> & {
    api?: string;
    compat?: Parameters<typeof compatOfPi>[0];
  };

type ModelCompat = NonNullable<CatalogueModel["compat"]>;

const shown = new WeakMap<CatalogueModel, PiModel>();
const originals = new WeakMap<object, CatalogueModel>();
const free: ModelPrices = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
/** Protocols with another name in pi. */
const protocols: Readonly<Record<string, ProviderApi>> = { "openai-completions": "openai-chat" };

/** The same object for the same model, so that extensions can compare. */
export function piModel(model: CatalogueModel): PiModel {
  const known = shown.get(model);
  if (known !== undefined) return known;
  const made: PiModel = {
    ...model,
    contextWindow: model.contextWindow ?? 0,
    maxTokens: model.maxOutputTokens ?? 0,
    cost: model.usdPerMillionTokens ?? free,
  };
  shown.set(model, made);
  originals.set(made, model);
  return made;
}

/** The model in Bonsai's shape. */
export function bonsaiModel(model: GivenModel): CatalogueModel {
  const original = originals.get(model);
  if (original !== undefined) return original;
  const { maxTokens, cost, api = "openai-chat", maxOutputTokens, usdPerMillionTokens, ...given } = model;
  return withThinkingField({
    name: given.id,
    input: ["text"],
    reasoning: false,
    baseUrl: "",
    ...given,
    ...(given.compat && { compat: { ...compatOfPi(given.compat), ...given.compat } as ModelCompat }),
    api: (protocols[api] ?? api) as ProviderApi,
    maxOutputTokens: maxTokens || maxOutputTokens || undefined,
    usdPerMillionTokens: cost ?? usdPerMillionTokens,
  });
}
