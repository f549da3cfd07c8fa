import {
  type CatalogueModel,
  type KeyFile,
  referenceOf,
  type UsableModel,
  usableModels,
} from "@bonsai-agent/models";
import type { ModelRegistry } from "../../call/model-choice.ts";
import { errorLine } from "../../views/error-text.ts";
import { loginState, missingText } from "../../views/login-state.ts";
import { price, shortTokens } from "../../views/numbers.ts";
import type { Screen } from "../terminal/screen.ts";
import { textLines } from "./panel-frame.ts";
import { type PickAction, PickList, type PickRow, showList } from "./pick-list.ts";

interface PickModelPanelOptions {
  screen: Screen;
  models: ModelRegistry;
  current: string;
  /** The model in use: listed even without a key or server. */
  inUse?: CatalogueModel | undefined;
  query?: string;
  title?: string;
  /** Marks the models that a key cycles through. Default: none. */
  isFavourite?: (reference: string) => boolean;
  actions?: readonly PickAction<ModelItem>[];
}

/** Lets the user choose from the available models or from all. @returns undefined if the user leaves the list */
export async function pickModel(options: PickModelPanelOptions): Promise<ModelItem | undefined> {
  const asking = new AbortController();
  try {
    return await showList(options.screen, (done) => modelList(options, asking.signal, done));
  } finally {
    asking.abort();
  }
}

function modelList(
  options: PickModelPanelOptions,
  signal: AbortSignal,
  done: (item: ModelItem | undefined) => void,
): PickList<ModelItem> {
  const { screen, models, current, inUse, query = "", title = "Model", actions = [] } = options;
  const { catalogue, keys } = models;
  let isAll = false;
  let usable = inUse === undefined ? [] : [inUse];
  const show = () => list.setItems(modelItems(usable, catalogue.models, isAll));
  const list: PickList<ModelItem> = new PickList<ModelItem>({
    place: screen,
    title,
    items: [],
    query,
    selected: current,
    key: ({ reference }) => reference,
    text: ({ reference, model }) => `${reference} ${model.name}`,
    row: (item) => modelRow(item, current, options.isFavourite?.(item.reference) ?? false),
    preview: (item, width) =>
      textLines(modelWords(item, keys, catalogue.asOf), width).map(screen.theme.style.muted),
    noMatch: "No matches. Tab switches between available and all models.",
    empty: "Looking for local servers…",
    onPick: (item) =>
      item.isUsable ? done(item) : `${item.reference} is not available: ${missingText(item.model, keys)}.`,
    onCancel: () => done(undefined),
    actions: [
      {
        key: "tab",
        does: "available or all",
        run: () => {
          isAll = !isAll;
          list.update({ status: undefined });
          show();
        },
      },
      ...actions,
    ],
  });
  const arrived = (found: readonly UsableModel[]) => {
    if (signal.aborted) return;
    const models = found.map(({ model }) => model);
    usable = [
      ...usable.filter((own) => !models.some((each) => referenceOf(each) === referenceOf(own))),
      ...models,
    ];
    list.update({
      empty:
        "No model available. Store a key with /login or start a local server such as Ollama. Tab shows all models.",
    });
    show();
    if (query === "") list.select(current);
  };
  usableModels({ catalogue, keys, signal }).then(arrived, (error: unknown) =>
    list.update({ empty: "The list of models could not be read.", status: errorLine(error) }),
  );
  return list;
}

interface ModelItem {
  reference: string;
  model: CatalogueModel;
  isUsable: boolean;
}

/** The available models; with `isAll`, then the models without a key or server. */
function modelItems(
  usable: readonly CatalogueModel[],
  known: readonly CatalogueModel[],
  isAll: boolean,
): ModelItem[] {
  const items = usable.map((model) => ({ reference: referenceOf(model), model, isUsable: true }));
  if (!isAll) return items;
  const references = new Set(items.map(({ reference }) => reference));
  const others = known.map((model) => ({ reference: referenceOf(model), model, isUsable: false }));
  return [...items, ...others.filter(({ reference }) => !references.has(reference))];
}

function modelRow({ reference, model, isUsable }: ModelItem, current: string, isFavourite: boolean): PickRow {
  const { contextWindow, usdPerMillionTokens } = model;
  const cost =
    usdPerMillionTokens === undefined
      ? ""
      : ` · $${price(usdPerMillionTokens.input)} / $${price(usdPerMillionTokens.output)}`;
  return {
    label: reference,
    detail: `${shortTokens(contextWindow || null)}${cost}`,
    mark: [...(reference === current ? ["●"] : []), ...(isFavourite ? ["★"] : [])].join(" ") || undefined,
    isDim: !isUsable,
  };
}

function modelWords({ model, isUsable }: ModelItem, keys: KeyFile, asOf: string): string {
  const { name, provider, reasoning, input, maxOutputTokens, contextWindow } = model;
  const key = loginState(model, { keys, nowMs: Date.now() }) ?? "no key needed";
  return [
    name,
    `window ${shortTokens(contextWindow || null)}`,
    ...(maxOutputTokens ? [`output up to ${shortTokens(maxOutputTokens)}`] : []),
    reasoning ? "thinking" : "no thinking",
    input.includes("image") ? "images" : "text only",
    keys.source(model) === undefined && !isUsable ? missingText(model, keys) : `${provider}: ${key}`,
    ...(model.usdPerMillionTokens === undefined
      ? []
      : [`prices: US dollars per million input / output tokens, ${asOf}`]),
  ].join(" · ");
}
