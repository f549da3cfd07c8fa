import { BonsaiError } from "@bonsai-agent/messages";
import { count, counted } from "../../views/numbers.ts";
import { passedThreshold } from "../compaction/passed-threshold.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { isNoModel } from "../no-model.ts";
import { referenceOf } from "../panels/models/model-item.ts";
import { pickModel } from "../panels/models/pick-model-panel.ts";
import { writeSetting } from "../panels/settings/settings-file.ts";
import { reloadModels } from "../session/reload-models.ts";
import { useSettings } from "../session/use-settings.ts";
import type { SlashCommand } from "./slash-command.ts";

export const model: SlashCommand = {
  name: "model",
  description: "Choose the model, with prices and windows",
  argumentHint: "[search]",
  worksWhileBusy: true,
  complete: (prefix, { host }) => {
    const { catalogue } = host.workshop.shelf;
    const wanted = prefix.trim().toLowerCase();
    const references = catalogue.models.map(referenceOf);
    return references
      .filter((reference) => reference.toLowerCase().includes(wanted))
      .map((reference) => ({ value: reference, label: reference }));
  },
  async run(args, work) {
    const { host, screen, tell } = work;
    reloadModels(work);
    if (args !== "" && (await isSet(args, work))) return;
    const current = referenceOf(host.agent.model);
    const picked = await pickModel({
      screen,
      shelf: host.workshop.shelf,
      current,
      inUse: isNoModel(host.agent.model) ? undefined : host.agent.model,
      query: args,
      keep: ({ reference }) => keepModel(reference, work),
    });
    if (picked === undefined) return;
    if (picked.reference === current) {
      tell({ level: "info", message: `${current} is in use.` });
      return;
    }
    // The model itself: what its server told of its window is in it.
    await host.agent.setModel(picked.model);
    tellModel(picked.reference, work);
  },
};

function tellModel(reference: string, { host, tell }: InteractiveWork): void {
  tell({ level: "info", message: `${reference} answers from the next request on.` });
  const { tokens } = host.agent.state.context;
  const limit = passedThreshold({ host }, tokens);
  if (limit === undefined) return;
  const message = `The context of ${counted(tokens, "token")} is above ${count(limit)}, where compaction begins for this model: the next prompt compacts it first.`;
  tell({ level: "warning", message });
}

/** True where the words name one model: nothing is to be asked. */
async function isSet(words: string, work: InteractiveWork): Promise<boolean> {
  // Another word than a whole name is a search.
  if (!words.includes("/") || /\s/.test(words)) return false;
  try {
    tellModel(referenceOf(await work.host.setModel(words)), work);
    return true;
  } catch (error) {
    if (
      BonsaiError.is(error) &&
      ["model_unknown", "model_ambiguous", "provider_unknown"].includes(error.code)
    )
      return false;
    throw error;
  }
}

/** In the user's own settings; what the project says counts more. */
function keepModel(reference: string, work: InteractiveWork): string {
  const { workshop } = work.host;
  writeSetting(workshop.home, ["model"], reference);
  useSettings(work);
  const { model: usual } = workshop.settings;
  return usual === reference
    ? `Sessions begin with ${reference} from the next start on.`
    : `Saved as yours; but this project begins with ${usual}.`;
}
