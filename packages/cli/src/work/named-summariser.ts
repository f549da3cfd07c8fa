import { modelNotice, summariserFor } from "@bonsai-agent/agent";
import type { Summariser } from "@bonsai-agent/compaction";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { agentCallSettings } from "../settings.ts";
import { findModel } from "./model-choice.ts";
import { openModelShop } from "./model-shop.ts";

/** The model that `--model` names, as summariser. @throws BonsaiError for a name that means none. */
export async function namedSummariser(invocation: Invocation, reference: string): Promise<Summariser> {
  const { io, output } = invocation;
  const home = bonsaiHome({ ...io.env });
  const settings = agentCallSettings(invocation);
  const { shelf, models } = await openModelShop({
    io,
    home,
    settings,
    onNotice: (notice) => output.tell(notice),
  });
  const model = await findModel(shelf, reference);
  return summariserFor({
    models,
    model,
    onNotice: (notice) => output.tell(modelNotice(notice)),
  });
}
