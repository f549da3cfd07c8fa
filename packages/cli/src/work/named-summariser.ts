import { modelNotice, summariserFor } from "@bonsai-agent/agent";
import type { Summariser } from "@bonsai-agent/compaction";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { agentCallSettings } from "../settings.ts";
import { findModel } from "./model-choice.ts";
import { type ModelShop, openModelShop } from "./model-shop.ts";

/**
 * The model that `--model` names, as summariser.
 * @param shop where it is looked for; default: one of its own, without the models of extensions
 * @throws BonsaiError for a name that means none.
 */
export async function namedSummariser(
  invocation: Invocation,
  reference: string,
  shop?: ModelShop,
): Promise<Summariser> {
  const { io, output } = invocation;
  const { shelf, models } =
    shop ??
    (await openModelShop({
      io,
      home: bonsaiHome({ ...io.env }),
      settings: agentCallSettings(invocation),
      onNotice: (notice) => output.tell(notice),
    }));
  const model = await findModel(shelf, reference);
  return summariserFor({
    models,
    model,
    onNotice: (notice) => output.tell(modelNotice(notice)),
  });
}
