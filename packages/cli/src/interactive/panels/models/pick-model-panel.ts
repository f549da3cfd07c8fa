import { type CatalogueModel, type UsableModel, usableModels } from "@bonsai-agent/models";
import type { ModelShelf } from "../../../work/model-choice.ts";
import { errorLine } from "../../error-text.ts";
import type { Screen } from "../../screen.ts";
import { textLines } from "../panel-frame.ts";
import { type PickAction, PickList } from "../pick-list.ts";
import { type ModelItem, modelItems, modelRow, modelWords, referenceOf } from "./model-item.ts";

export interface PickModelPanelOptions {
  screen: Screen;
  shelf: ModelShelf;
  /** `provider/id` of the model in use. */
  current: string;
  /** The model in use itself: it is listed also where neither a key nor a server tells of it. */
  inUse?: CatalogueModel | undefined;
  query?: string;
  title?: string;
  /** Makes a model the one to begin with; @returns what to say about it. Default: that cannot be done here. */
  keep?: ((item: ModelItem) => string) | undefined;
}

/** Lets the user choose a model, of those that can be asked now or of all. @returns undefined where the user left it */
export async function pickModel(options: PickModelPanelOptions): Promise<ModelItem | undefined> {
  const asking = new AbortController();
  try {
    return await options.screen.show<ModelItem>((done) => modelList(options, asking.signal, done));
  } finally {
    asking.abort();
  }
}

function modelList(
  { screen, shelf, current, inUse, query = "", title = "Model", keep }: PickModelPanelOptions,
  signal: AbortSignal,
  done: (item: ModelItem | undefined) => void,
): PickList<ModelItem> {
  const { catalogue, keys } = shelf;
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
    row: (item) => modelRow(item, current),
    preview: (item, width) =>
      textLines(modelWords(item, keys, catalogue.asOf), width).map(screen.theme.style.muted),
    noMatch: "Nothing matches; Tab changes between those that can be used and all.",
    empty: "Asking local servers …",
    onPick: (item) => {
      if (item.isUsable) done(item);
      else list.tell({ status: `${item.reference} has no key, or its server does not answer: see /login.` });
    },
    onCancel: () => done(undefined),
    actions: [
      {
        key: "tab",
        does: "usable or all",
        run: () => {
          isAll = !isAll;
          list.tell({ status: undefined });
          show();
        },
      },
      ...(keep === undefined ? [] : [keepAction(keep, (status) => list.tell({ status }))]),
    ],
  });
  const arrived = (found: typeof usable) => {
    if (signal.aborted) return;
    usable = found;
    list.tell({
      empty:
        "No model can be used yet: /login stores a key, or start a local server like Ollama. Tab shows all.",
    });
    show();
    if (query === "") list.model.select(current);
  };
  usableModels({ catalogue, keys, signal }).then(arrived, (error: unknown) =>
    list.tell({ empty: "Nothing to choose from.", status: errorLine(error) }),
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

function keepAction(keep: (item: ModelItem) => string, say: (status: string) => void): PickAction<ModelItem> {
  return {
    key: "ctrl+s",
    does: "begin with it from now on",
    run: (item) => {
      if (item === undefined) return;
      try {
        say(keep(item));
      } catch (error) {
        say(errorLine(error));
      }
    },
  };
}
