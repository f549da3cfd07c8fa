import { BonsaiError } from "@bonsai-agent/messages";
import { type CatalogueModel, isReachable, referenceOf, usableModels } from "@bonsai-agent/models";
import { findChoice, type ModelChoice, type ModelRegistry } from "./model-choice.ts";

/** The models that `cycleModel` goes through. */
export interface ModelCycle {
  choices: readonly ModelChoice[];
  /** Unusable favourites, each with the reason. */
  left: readonly string[];
}

/** The usable favourites; without favourites, all usable models. */
export async function modelCycle(models: ModelRegistry, favourites: readonly string[]): Promise<ModelCycle> {
  if (favourites.length === 0) {
    const usable = await usableModels(models);
    return { choices: usable.map(({ model }) => ({ model })), left: [] };
  }
  const found = await Promise.all(favourites.map((each) => favouriteChoices(models, each)));
  const choices = found.filter((each) => typeof each !== "string").flat();
  const seen = new Set<string>();
  return {
    choices: choices.filter(({ model }) => !seen.has(referenceOf(model)) && seen.add(referenceOf(model))),
    left: found.filter((each) => typeof each === "string"),
  };
}

/** The next choice from a model; undefined if there is no other. An unlisted model leads to the first, or the last. */
export function nextChoice(
  choices: readonly ModelChoice[],
  current: CatalogueModel,
  step: 1 | -1,
): ModelChoice | undefined {
  const at = choices.findIndex(({ model }) => referenceOf(model) === referenceOf(current));
  const next = at < 0 ? (step > 0 ? 0 : -1) : (at + step) % choices.length;
  const choice = choices.at(next);
  return choice === undefined || referenceOf(choice.model) === referenceOf(current) ? undefined : choice;
}

/** The models of a favourite, or the reason why there are none. */
async function favouriteChoices(models: ModelRegistry, favourite: string): Promise<ModelChoice[] | string> {
  if (favourite.includes("*")) return matching(models, favourite);
  const { reference, ...level } = models.catalogue.divide(favourite);
  const known = models.catalogue.models.find((model) => referenceOf(model) === reference);
  try {
    // Do not ask the server about a known model before the user chooses it.
    const choice = known === undefined ? await findChoice(models, favourite) : { model: known, ...level };
    if (isReachable(choice.model, models.keys)) return [choice];
    const { apiKeyEnv, provider } = choice.model;
    return apiKeyEnv === undefined
      ? `${reference} needs a login: run /login ${provider}`
      : `${reference} needs a key: set ${apiKeyEnv} or run /login ${provider}`;
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    return error.message.replace(/\.$/, "");
  }
}

/** Matches `*` in the whole name or the id. */
function matching({ catalogue, keys }: ModelRegistry, favourite: string): ModelChoice[] | string {
  const { reference, ...level } = catalogue.divide(favourite);
  const parts = reference.split("*").map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(`^${parts.join(".*")}$`, "i");
  const fitting = catalogue.models.filter(
    (model) => pattern.test(referenceOf(model)) || pattern.test(model.id),
  );
  const usable = fitting.filter((model) => isReachable(model, keys));
  if (usable.length > 0) return usable.map((model) => ({ model, ...level }));
  return fitting.length === 0
    ? `No model matches ${reference}`
    : `The models that match ${reference} need a key`;
}
