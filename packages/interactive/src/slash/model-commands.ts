import { count, counted } from "@bonsai-agent/app/numbers";
import { BonsaiError } from "@bonsai-agent/messages";
import { type ThinkingLevel, thinkingLevels } from "@bonsai-agent/models";
import { errorText } from "../error-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askPick } from "../panels/ask.ts";
import { pickModel, referenceOf } from "../panels/model-picker.ts";
import { writeSetting } from "../panels/settings-file.ts";
import { passedThreshold } from "./compaction-commands.ts";
import { useSettings } from "./settings-commands.ts";

export const modelCommand: SlashCommand = {
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
  async run(args, context) {
    const { host, screen, notify } = context;
    reloadModels(context);
    if (args !== "" && (await isSet(args, context))) return;
    const current = referenceOf(host.agent.model);
    const picked = await pickModel({
      screen,
      shelf: host.workshop.shelf,
      current,
      inUse: isNoModel(host.agent.model) ? undefined : host.agent.model,
      query: args,
      keep: ({ reference }) => keepModel(reference, context),
    });
    if (picked === undefined) return;
    if (picked.reference === current) {
      notify(`${current} is in use.`);
      return;
    }
    // The model itself: what its server told of its window is in it.
    await host.agent.setModel(picked.model);
    tellModel(picked.reference, context);
  },
};

function tellModel(reference: string, { host, notify }: InteractiveContext): void {
  notify(`${reference} answers from the next request on.`);
  const { tokens } = host.agent.state.context;
  const limit = passedThreshold({ host }, tokens);
  if (limit === undefined) return;
  const message = `The context of ${counted(tokens, "token")} is above ${count(limit)}, where compaction begins for this model: the next prompt compacts it first.`;
  notify(message, "warning");
}

/** True where the words name one model: nothing is to be asked. */
async function isSet(words: string, context: InteractiveContext): Promise<boolean> {
  // Another word than a whole name is a search.
  if (!words.includes("/") || /\s/.test(words)) return false;
  try {
    tellModel(referenceOf(await context.host.setModel(words)), context);
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
function keepModel(reference: string, context: InteractiveContext): string {
  const { workshop } = context.host;
  writeSetting(workshop.home, ["model"], reference);
  useSettings(context);
  const { model: usual } = workshop.settings;
  return usual === reference
    ? `Sessions begin with ${reference} from the next start on.`
    : `Saved as yours; but this project begins with ${usual}.`;
}

export const thinkingCommand: SlashCommand = {
  name: "thinking",
  description: "How much the model thinks before it answers",
  argumentHint: "[level]",
  worksWhileBusy: true,
  complete: (prefix) =>
    thinkingLevels
      .filter((level) => level.startsWith(prefix.trim()))
      .map((level) => ({ value: level, label: level })),
  async run(args, context) {
    const { host, notify } = context;
    const level = args === "" ? await pickedLevel(context) : thinkingLevels.find((each) => each === args);
    if (level === undefined) {
      if (args !== "") notify(`“${args}” is no level; allowed are ${thinkingLevels.join(", ")}.`, "warning");
      return;
    }
    await host.agent.setThinking(level);
    const { model } = host.agent;
    const idle = model.reasoning || level === "off" ? "" : ` ${model.provider}/${model.id} does not think.`;
    notify(`Thinking is ${level} from the next request on.${idle}`);
  },
};

function pickedLevel({ host, screen }: InteractiveContext): Promise<ThinkingLevel | undefined> {
  const { thinking } = host.agent.state;
  return askPick(screen, {
    title: "How much the model thinks",
    items: thinkingLevels,
    key: (level) => level,
    text: (level) => level,
    selected: thinking,
    row: (level) => ({ label: level, mark: level === thinking ? "●" : undefined }),
  });
}

/** What `models.json` says now counts from here on. A file that cannot be read is told of, and changes nothing. */
export function reloadModels({ host, notify }: Pick<InteractiveContext, "host" | "notify">): void {
  try {
    host.workshop.shelf.catalogue.reload();
  } catch (error) {
    notify(errorText(error), "error");
  }
}
