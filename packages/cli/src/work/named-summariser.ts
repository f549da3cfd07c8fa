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
  const { io, output } = invocation;
  const home = bonsaiHome({ ...io.env });
  const settings = agentCallSettings(invocation);
  const shop = await openModelShop({ io, home, settings, onNotice: (notice) => output.tell(notice) });
  return modelSummariser(shop, await findModel(shop.shelf, reference), output);
}

/** A model as summariser. */
export function modelSummariser({ models }: ModelShop, model: CatalogueModel, output: Output): Summariser {
  return summariserFor({ models, model, onNotice: (notice) => output.tell(modelNotice(notice)) });
}
