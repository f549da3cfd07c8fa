import { count, sizeText } from "@bonsai-agent/app/numbers";
import { BonsaiError } from "@bonsai-agent/messages";
import { errorText } from "../error-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { pickModel, referenceOf } from "../panels/model-picker.ts";
import { writeSetting } from "../panels/settings-file.ts";
import { passedThreshold } from "./compaction-commands.ts";
import { useSettings } from "./settings-commands.ts";

export const modelCommand: SlashCommand = {
  name: "model",
  description: "Choose the model, with prices and windows",
  argumentHint: "[search]",
  worksWhileBusy: true,
  complete: (prefix, { host }) =>
    host.app.models.catalogue.models
      .map(referenceOf)
      .filter((reference) => reference.toLowerCase().includes(prefix.trim().toLowerCase()))
      .map((reference) => ({ value: reference, label: reference })),
  async run(args, context) {
    const { host, screen, notify } = context;
    reloadModels(context);
    if (args !== "" && (await isSet(args, context))) return;
    const current = referenceOf(host.agent.model);
    const picked = await pickModel({
      screen,
      models: host.app.models,
      current,
      inUse: isNoModel(host.agent.model) ? undefined : host.agent.model,
      query: args,
      keep: ({ reference }) => keepModel(reference, context),
    });
    if (picked === undefined) return;
    if (picked.reference === current) return notify(`${current} is in use.`);
    // The model itself: it has the window that its server reports.
    await host.agent.setModel(picked.model);
    notifyModel(picked.reference, context);
  },
};

function notifyModel(reference: string, { host, notify }: InteractiveContext): void {
  notify(`${reference} answers from the next request on.`);
  const { tokens } = host.agent.state.context;
  const limit = passedThreshold(host, tokens);
  if (limit === undefined) return;
  const message = `The context of ${sizeText(host.agent.state.context)} is above ${count(limit)}, where compaction begins for this model: the next prompt compacts it first.`;
  notify(message, "warning");
}

/** True where the words name one model: nothing is to be asked. */
async function isSet(words: string, context: InteractiveContext): Promise<boolean> {
  // Another word than a whole name is a search.
  if (!words.includes("/") || /\s/.test(words)) return false;
  try {
    notifyModel(referenceOf(await context.host.setModel(words)), context);
    return true;
  } catch (error) {
    if (BonsaiError.is(error) && searchCodes.has(error.code)) return false;
    throw error;
  }
}

/** Of words that name no model. */
const searchCodes: ReadonlySet<string> = new Set(["model_unknown", "model_ambiguous", "provider_unknown"]);

/** In the user's own settings; those of the project count more. */
function keepModel(reference: string, context: InteractiveContext): string {
  const { app } = context.host;
  writeSetting(app.home, ["model"], reference);
  useSettings(context);
  const { model: usual } = app.settings;
  return usual === reference
    ? `Sessions begin with ${reference} from the next start on.`
    : `Saved as yours; but this project begins with ${usual}.`;
}

/** Reads `models.json` anew. A file that cannot be read changes nothing. */
export function reloadModels({ host, notify }: Pick<InteractiveContext, "host" | "notify">): void {
  try {
    host.app.models.catalogue.reload();
  } catch (error) {
    notify(errorText(error), "error");
  }
}
