import { BonsaiError } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  isReachable,
  referenceOf,
  thinkingLevelsOf,
  type UsableModel,
  usableModels,
} from "@bonsai-agent/models";
import { nextThinkingLevel } from "@bonsai-agent/models/host";
import { passedThreshold } from "../../call/compactions.ts";
import { findChoice, type ModelRegistry } from "../../call/model-choice.ts";
import { writeSetting } from "../../call/settings-file.ts";
import { errorText } from "../../views/error-text.ts";
import { missingText } from "../../views/login-state.ts";
import { count, sizeText } from "../../views/numbers.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { pickModel } from "../panels/model-picker.ts";
import { keys } from "../terminal/keys.ts";
import type { AutocompleteItem } from "../terminal/tui.ts";
import { useSettings } from "./settings.ts";

export const modelCommand: SlashCommand = {
  name: "model",
  key: "pickModel",
  description: "Choose the model. The list shows context windows and prices",
  argumentHint: "[search]",
  worksWhileBusy: true,
  complete: completeModels,
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
      isFavourite: (reference) => favouriteOf(reference, context) !== undefined,
      actions: [
        {
          key: "ctrl+s",
          does: "use for new sessions",
          run: (item) => item && keepModel(item.reference, context),
        },
        { key: "ctrl+f", does: "favourite", run: (item) => item && toggleFavourite(item.reference, context) },
      ],
    });
    if (picked === undefined) return;
    if (picked.reference === current) return notify(`${current} is already in use.`);
    // The model object has the window that its server reports.
    await host.agent.setModel(picked.model);
    notifyModel(picked.reference, context);
  },
};

async function completeModels(prefix: string, { host }: InteractiveContext): Promise<AutocompleteItem[]> {
  const wanted = prefix.trim().toLowerCase();
  const references = (await usableNow(host.app.models)).map(({ model }) => referenceOf(model));
  return references
    .filter((reference) => reference.toLowerCase().includes(wanted))
    .map((reference) => ({ value: reference, label: reference }));
}

/** Servers are not asked for each typed letter. */
const askedForMs = 5_000;
const asked = new WeakMap<ModelRegistry, { atMs: number; found: Promise<readonly UsableModel[]> }>();

function usableNow(models: ModelRegistry): Promise<readonly UsableModel[]> {
  const last = asked.get(models);
  const atMs = performance.now();
  if (last !== undefined && atMs - last.atMs < askedForMs) return last.found;
  const found = usableModels(models);
  asked.set(models, { atMs, found });
  return found;
}

function notifyModel(reference: string, { host, notify }: InteractiveContext): void {
  notify(`Model: ${reference}, from the next request.`);
  const { tokens } = host.agent.state.context;
  const limit = passedThreshold(host, tokens);
  if (limit === undefined) return;
  const message = `The context (${sizeText(host.agent.state.context)}) is above this model's limit of ${count(limit)}. The next prompt compacts it first.`;
  notify(message, "warning");
}

/** @returns true if the words name one model */
async function isSet(words: string, context: InteractiveContext): Promise<boolean> {
  // Anything but a whole name is a search.
  if (!words.includes("/") || /\s/.test(words)) return false;
  const { host, notify } = context;
  try {
    const { model } = await findChoice(host.app.models, words);
    if (isReachable(model, host.app.models.keys))
      notifyModel(referenceOf(await host.setModel(words)), context);
    else
      notify(
        `${referenceOf(model)} is not available: ${missingText(model, host.app.models.keys)}.`,
        "warning",
      );
    return true;
  } catch (error) {
    if (BonsaiError.is(error) && searchCodes.has(error.code)) return false;
    throw error;
  }
}

/** Errors for words that name no model. */
const searchCodes: ReadonlySet<string> = new Set([
  "model_unknown",
  "model_ambiguous",
  "model_needs_key",
  "provider_unknown",
]);

const CYCLED_MS = 3_000;

export async function cycleModel({ host, notify, status }: InteractiveContext, step: 1 | -1): Promise<void> {
  try {
    const { model, choices, left } = await host.cycleModel(step);
    for (const why of left) notify(`Skipped a favourite model: ${why}.`, "warning");
    if (model === undefined) return notify(noOtherModel(host.app.settings.favoriteModels, choices.length));
    const at = choices.findIndex((each) => referenceOf(each.model) === referenceOf(model)) + 1;
    const text = `Model: ${referenceOf(model)}, from the next request (${at} of ${choices.length}).`;
    status.hint(text, CYCLED_MS);
  } catch (error) {
    notify(errorText(error), "error");
  }
}

function noOtherModel(favourites: readonly string[], many: number): string {
  if (many === 0)
    return "No model available. Store a key with /login or start a local server such as Ollama.";
  return favourites.length > 0
    ? "No other favourite is available. Mark favourites in /model."
    : "No other model is available. Store more keys with /login.";
}

/** The favourite that names a model, with its thinking level. */
function favouriteOf(reference: string, { host }: InteractiveContext): string | undefined {
  const { models, settings } = host.app;
  return settings.favoriteModels.find((each) => models.catalogue.divide(each).reference === reference);
}

/** @returns a status line */
function toggleFavourite(reference: string, context: InteractiveContext): string {
  const { app } = context.host;
  const known = favouriteOf(reference, context);
  const { favoriteModels: now } = app.settings;
  const next = known === undefined ? [...now, reference] : now.filter((each) => each !== known);
  writeSetting(app.home, ["favoriteModels"], next.length === 0 ? undefined : next);
  useSettings(context);
  const isOne = favouriteOf(reference, context) !== undefined;
  if (isOne === (known !== undefined))
    return "Saved in your settings. The project or a flag sets other favourites here.";
  const key = keys.label("nextModel");
  return isOne
    ? `${reference} is a favourite. ${key} switches between favourites.`
    : `${reference} is no longer a favourite.`;
}

/** @returns a status line */
function keepModel(reference: string, context: InteractiveContext): string {
  const { app } = context.host;
  writeSetting(app.home, ["model"], reference);
  useSettings(context);
  const { model: usual } = app.settings;
  return usual === reference
    ? `${reference} is the default model from the next start.`
    : `Saved in your settings. This project starts with ${usual}.`;
}

/** Reads `models.json` again. An unreadable file changes nothing. */
export function reloadModels({ host, notify }: InteractiveContext): void {
  try {
    host.app.models.catalogue.reload();
  } catch (error) {
    notify(errorText(error), "error");
  }
}

/** Switches to the next level that the model distinguishes. */
export async function nextThinking({ host, notify }: InteractiveContext): Promise<void> {
  const { thinking, model } = host.agent.state;
  const next = nextThinkingLevel(model, thinking);
  if (next === undefined) notify(onlyThinking(model));
  else await host.agent.setThinking(next);
}

/** For a model that does not distinguish levels. */
function onlyThinking(model: CatalogueModel): string {
  if (isNoModel(model)) return "No model available yet. Choose one with /model.";
  const [level] = thinkingLevelsOf(model);
  if (level !== undefined) return `${referenceOf(model)} has a single thinking level.`;
  return model.reasoning
    ? `${referenceOf(model)} decides itself how much it thinks.`
    : `${referenceOf(model)} has no thinking levels.`;
}
