import type { Catalogue, CatalogueModel, KeyFile, UsableModel } from "@bonsai-agent/models";
import { price, tokens } from "../../../views/numbers.ts";
import type { PickRow } from "../pick-list.ts";

/** A model as the list has it. */
export interface ModelItem {
  reference: string;
  model: CatalogueModel;
  isUsable: boolean;
}

export function referenceOf({ provider, id }: Pick<CatalogueModel, "provider" | "id">): string {
  return `${provider}/${id}`;
}

/** The models that can be asked now; behind them, where all are wanted, those that lack a key or a server. */
export function modelItems(
  usable: readonly Pick<UsableModel, "model">[],
  catalogue: Pick<Catalogue, "models">,
  isAll: boolean,
): ModelItem[] {
  const items = usable.map(({ model }) => ({ reference: referenceOf(model), model, isUsable: true }));
  if (!isAll) return items;
  const known = new Set(items.map(({ reference }) => reference));
  const others = catalogue.models
    .map((model) => ({ reference: referenceOf(model), model, isUsable: false }))
    .filter(({ reference }) => !known.has(reference));
  return [...items, ...others];
}

export function modelRow({ reference, model, isUsable }: ModelItem, current: string): PickRow {
  const { contextWindow, usdPerMillionTokens } = model;
  const cost =
    usdPerMillionTokens === undefined
      ? ""
      : ` · $${price(usdPerMillionTokens.input)} / $${price(usdPerMillionTokens.output)}`;
  return {
    label: reference,
    detail: `${tokens(contextWindow || null)}${cost}`,
    mark: reference === current ? "●" : undefined,
    isDim: !isUsable,
  };
}

/** One or two lines about a model. */
export function modelWords(
  { model, isUsable }: ModelItem,
  keys: Pick<KeyFile, "source">,
  asOf: string,
): string {
  const { name, provider, reasoning, input, maxOutputTokens, contextWindow, apiKeyEnv } = model;
  const origin = keys.source(model);
  const key =
    origin === "environment"
      ? `key from ${apiKeyEnv}`
      : origin !== undefined
        ? "key stored"
        : isUsable
          ? "no key needed"
          : "no key, or no answer: /login";
  return [
    name,
    `window ${tokens(contextWindow || null)}`,
    ...(maxOutputTokens ? [`output up to ${tokens(maxOutputTokens)}`] : []),
    reasoning ? "thinks" : "does not think",
    input.includes("image") ? "sees images" : "text only",
    `${provider}: ${key}`,
    ...(model.usdPerMillionTokens === undefined
      ? []
      : [`prices in US dollars per million tokens, in and out, as of ${asOf}`]),
  ].join(" · ");
}
