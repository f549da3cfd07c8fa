import type { ModelPrices } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderApi } from "@bonsai-agent/models";
import { withThinkingField } from "@bonsai-agent/models/host";

/** A model with pi's names for its sizes and prices beside ours. */
export interface PiModel extends CatalogueModel {
  /** Tokens; 0 where unknown. */
  contextWindow: number;
  /** Tokens of the longest answer; 0 where unknown. */
  maxTokens: number;
  /** US dollars per million tokens. */
  cost: ModelPrices;
}

/** A model as an extension may hand it in: one of ours, or one that it put together itself. */
export type GivenModel = Pick<CatalogueModel, "provider" | "id"> &
  Partial<Omit<PiModel, "provider" | "id" | "api" | "compat">> & { api?: string; compat?: GivenCompat };

type ModelCompat = NonNullable<CatalogueModel["compat"]>;

interface GivenCompat extends ModelCompat {
  thinkingFormat?: string;
  supportsReasoningEffort?: boolean;
}

const shown = new WeakMap<CatalogueModel, PiModel>();
const originals = new WeakMap<object, CatalogueModel>();
const free: ModelPrices = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
/** pi's names of protocols that have another one here. */
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

/** The model that is meant, under our names. */
export function bonsaiModel(model: GivenModel): CatalogueModel {
  const original = originals.get(model);
  if (original !== undefined) return original;
  const { maxTokens, cost, api = "openai-chat", maxOutputTokens, usdPerMillionTokens, ...given } = model;
  const compat = ourCompat(given.compat);
  return withThinkingField({
    name: given.id,
    input: ["text"],
    reasoning: false,
    baseUrl: "",
    ...given,
    ...(compat && { compat }),
    api: (protocols[api] ?? api) as ProviderApi,
    maxOutputTokens: maxTokens || maxOutputTokens || undefined,
    usdPerMillionTokens: cost ?? usdPerMillionTokens,
  });
}

/** pi's words for how a server is told to think; those that are not here have none. */
const thinkingFormats: Readonly<Record<string, ModelCompat["thinking"]>> = {
  openai: "reasoning_effort",
  openrouter: "reasoning",
  zai: "switch",
  deepseek: "switch",
};

function ourCompat(compat: GivenCompat | undefined): ModelCompat | undefined {
  if (compat === undefined || compat.thinking !== undefined) return compat;
  const { thinkingFormat = "", supportsReasoningEffort } = compat;
  const thinking = supportsReasoningEffort === false ? "none" : thinkingFormats[thinkingFormat];
  return thinking === undefined ? compat : { ...compat, thinking };
}
