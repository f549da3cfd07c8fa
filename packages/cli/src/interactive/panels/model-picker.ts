import {
  type Catalogue,
  type CatalogueModel,
  isReachable,
  type KeyFile,
  referenceOf,
  type UsableModel,
  usableModels,
} from "@bonsai-agent/models";
import { shownAddress } from "@bonsai-agent/models/host";
import type { ModelRegistry } from "../../call/model-choice.ts";
import { price, shortTokens } from "../../views/numbers.ts";
import { errorLine } from "../error-text.ts";
import type { Screen } from "../terminal/screen.ts";
import { textLines } from "./panel-frame.ts";
import { PickList, type PickRow, showList } from "./pick-list.ts";

interface PickModelPanelOptions {
  screen: Screen;
  models: ModelRegistry;
  /** `provider/id` of the model in use. */
  current: string;
  /** The model in use: listed even without a key or server. */
  inUse?: CatalogueModel | undefined;
  query?: string;
  title?: string;
  /** Makes a model the default. @returns a status line */
  keep?: ((item: ModelItem) => string) | undefined;
  /** The models that a key cycles through. Default: not marked. */
  favourites?: Favourites | undefined;
}

interface Favourites {
  has(reference: string): boolean;
  /** @returns a status line */
  toggle(reference: string): string;
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
  { screen, models, current, inUse, query = "", title = "Model", keep, favourites }: PickModelPanelOptions,
  signal: AbortSignal,
  done: (item: ModelItem | undefined) => void,
): PickList<ModelItem> {
  const { catalogue, keys } = models;
  let isAll = false;
  let usable: Awaited<ReturnType<typeof usableModels>> = [];
  const show = () => list.setItems(modelItems(withInUse(usable, inUse), catalogue, isAll));
  const list: PickList<ModelItem> = new PickList<ModelItem>({
    place: screen,
    title,
    items: [],
    query,
    selected: current,
    key: ({ reference }) => reference,
    text: ({ reference, model }) => `${reference} ${model.name}`,
    row: (item) => modelRow(item, current, favourites?.has(item.reference) ?? false),
    preview: (item, width) =>
      textLines(modelWords(item, keys, catalogue.asOf), width).map(screen.theme.style.muted),
    noMatch: "No matches. Tab switches between available and all models.",
    empty: "Looking for local servers…",
    onPick: (item) =>
      item.isUsable ? done(item) : `${item.reference} is not available: ${missing(item.model, keys)}.`,
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
      ...(keep === undefined
        ? []
        : [
            {
              key: "ctrl+s",
              does: "use for new sessions",
              run: (item?: ModelItem) => item && keep(item),
            } as const,
          ]),
      ...(favourites === undefined
        ? []
        : [
            {
              key: "ctrl+f",
              does: "favourite",
              run: (item?: ModelItem) => item && favourites.toggle(item.reference),
            } as const,
          ]),
    ],
  });
  const arrived = (found: typeof usable) => {
    if (signal.aborted) return;
    usable = found;
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

function withInUse(
  usable: readonly Pick<UsableModel, "model">[],
  inUse: CatalogueModel | undefined,
): readonly Pick<UsableModel, "model">[] {
  if (inUse === undefined) return usable;
  const isListed = usable.some(({ model }) => referenceOf(model) === referenceOf(inUse));
  return isListed ? usable : [{ model: inUse }, ...usable];
}

interface ModelItem {
  reference: string;
  model: CatalogueModel;
  isUsable: boolean;
}

/** The available models; with `isAll`, then the models without a key or server. */
function modelItems(
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

/** Why a model is not available, with the remedy. */
export function missing(model: CatalogueModel, keys: KeyFile): string {
  const { provider, apiKeyEnv, baseUrl } = model;
  if (model.missing !== undefined) return model.missing.replace(/\.$/, "");
  if (isReachable(model, keys)) return `no server at ${shownAddress(baseUrl)} offers it`;
  return apiKeyEnv === undefined
    ? `${provider} needs a login. Run /login ${provider}`
    : `${provider} needs a key. Set ${apiKeyEnv} or run /login ${provider}`;
}

function modelWords({ model, isUsable }: ModelItem, keys: KeyFile, asOf: string): string {
  const { name, provider, reasoning, input, maxOutputTokens, contextWindow, apiKeyEnv } = model;
  const origin = keys.source(model);
  const key =
    origin === "environment"
      ? `key from ${apiKeyEnv}`
      : origin === "login"
        ? "logged in"
        : origin !== undefined
          ? "key stored"
          : "no key needed";
  return [
    name,
    `window ${shortTokens(contextWindow || null)}`,
    ...(maxOutputTokens ? [`output up to ${shortTokens(maxOutputTokens)}`] : []),
    reasoning ? "thinking" : "no thinking",
    input.includes("image") ? "images" : "text only",
    origin === undefined && !isUsable ? missing(model, keys) : `${provider}: ${key}`,
    ...(model.usdPerMillionTokens === undefined
      ? []
      : [`prices: US dollars per million input / output tokens, ${asOf}`]),
  ].join(" · ");
}
