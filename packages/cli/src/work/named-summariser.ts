import { modelNotice, summariserFor } from "@bonsai-agent/agent";
import type { Summariser } from "@bonsai-agent/compaction";
import type { CatalogueModel } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import type { Output } from "../output.ts";
import { agentCallSettings } from "../settings.ts";
import { findModel } from "./model-choice.ts";
import { type ModelShop, openModelShop } from "./model-shop.ts";

/** The model that `--model` names, as summariser. @throws BonsaiError for a name that means none. */
export async function namedSummariser(invocation: Invocation, reference: string): Promise<Summariser> {
  return (await namedModel(invocation, reference)).summariser;
}

/** The same with the model itself. Nothing is asked, so no key is needed. @throws as `namedSummariser` */
export async function namedModel(
  invocation: Invocation,
  reference: string,
): Promise<{ model: CatalogueModel; summariser: Summariser }> {
  const { io, output } = invocation;
  const home = bonsaiHome({ ...io.env });
  const settings = agentCallSettings(invocation);
  const shop = await openModelShop({ io, home, settings, onNotice: (notice) => output.notify(notice) });
  const model = await findModel(shop.shelf, reference);
  return { model, summariser: modelSummariser(shop, model, output) };
}

/** A model as summariser. */
export function modelSummariser({ models }: ModelShop, model: CatalogueModel, output: Output): Summariser {
  return summariserFor({ models, model, onNotice: (notice) => output.notify(modelNotice(notice)) });
}
