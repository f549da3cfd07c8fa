import { join } from "node:path";
import {
  type Catalogue,
  type CatalogueModel,
  defaultModel,
  fileKeys,
  type KeyFile,
  loadCatalogue,
  usableModels,
} from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import type { ModelRow } from "../reports/model-row.ts";
import { agentCallSettings } from "../settings.ts";
import { modelsView } from "../views/models-view.ts";
import type { ModelShop } from "../work/model-shop.ts";

/** Prints the models that can be asked now, those of extensions too; `--all` those that cannot as well. */
export function run(invocation: Invocation): Promise<undefined> {
  return invocation.io.interruptible(async (signal) => {
    const { openSessionExtensions } = await import("../extensions/session-extensions.ts");
    const extensions = await openSessionExtensions({ invocation, signal });
    try {
      await print(invocation, await extensions?.shop());
    } finally {
      await extensions?.close();
    }
    return undefined;
  });
}

async function print(invocation: Invocation, shop: ModelShop | undefined): Promise<void> {
  const { args, options, io, output } = invocation;
  const home = bonsaiHome({ ...io.env });
  const { keys, catalogue } = shop?.shelf ?? (await knownModels(invocation, home));
  const usual = agentCallSettings(invocation).model;
  const rows = await withProgress(io, "Asking local servers", () =>
    modelRows({ catalogue, keys, usual, authFile: join(home, "auth.json") }),
  );
  const asked = options.all === true ? rows : rows.filter(({ usable }) => usable);
  const shown = asked.filter((row) => isMeant(row, args[0]));
  output.result(shown, () =>
    modelsView({
      shown,
      rows,
      search: args[0],
      all: options.all === true,
      asOf: catalogue.asOf,
      keyNames: catalogue.providers.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []),
      home,
      width: output.width,
    }),
  );
}

async function knownModels(
  { io, output }: Invocation,
  home: string,
): Promise<Pick<Shelf, "keys" | "catalogue">> {
  const keys = fileKeys({ home, env: io.env, onNotice: (notice) => output.notify(notice) });
  return { keys, catalogue: await loadCatalogue({ home, env: io.env }) };
}

interface Shelf {
  catalogue: Catalogue;
  keys: KeyFile;
  /** `provider/id` that the settings name. */
  usual: string | undefined;
  authFile: string;
}

/** Usable models where they stand in the catalogue, and what only a server knows behind its provider's others. */
async function modelRows({ catalogue, keys, usual, authFile }: Shelf): Promise<ModelRow[]> {
  const usable = await usableModels({ catalogue, keys });
  const chosen = usual ?? referenceOf((await defaultModel({ catalogue, keys }))?.model);
  const known = new Set(usable.map(({ model }) => referenceOf(model)));
  const keyOf = (model: CatalogueModel) => {
    const origin = keys.source(model);
    return origin === "environment" ? (model.apiKeyEnv ?? null) : origin === "file" ? authFile : null;
  };
  const row = (model: CatalogueModel, isUsable: boolean) =>
    rowOf({ model, usable: isUsable, key: keyOf(model), isDefault: referenceOf(model) === chosen });
  return catalogue.providers.flatMap(({ provider }) => [
    ...usable.filter(({ model }) => model.provider === provider).map(({ model }) => row(model, true)),
    ...catalogue.models
      .filter((model) => model.provider === provider && !known.has(referenceOf(model)))
      .map((model) => row(model, false)),
  ]);
}

function rowOf({
  model,
  ...rest
}: { model: CatalogueModel } & Pick<ModelRow, "usable" | "key" | "isDefault">): ModelRow {
  const { provider, id, name, contextWindow, maxOutputTokens, input, reasoning, usdPerMillionTokens } = model;
  return {
    provider,
    id,
    name,
    contextWindow: contextWindow || null,
    maxOutputTokens: maxOutputTokens || null,
    input,
    reasoning,
    usdPerMillionTokens: usdPerMillionTokens ?? null,
    ...rest,
  };
}

function referenceOf(model: CatalogueModel): string;
function referenceOf(model: CatalogueModel | undefined): string | undefined;
function referenceOf(model: CatalogueModel | undefined): string | undefined {
  return model && `${model.provider}/${model.id}`;
}

/** Each word stands somewhere in the reference or the name, in any case. */
function isMeant({ provider, id, name }: ModelRow, search = ""): boolean {
  const text = `${provider}/${id} ${name}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
