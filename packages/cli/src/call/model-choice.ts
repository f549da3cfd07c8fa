import { resolve } from "node:path";
import { type AgentSettings, summariserFor } from "@bonsai-agent/agent";
import { branchSummaryAsText, modelNotice } from "@bonsai-agent/agent/host";
import type { Summariser } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  type Catalogue,
  type CatalogueModel,
  defaultModel,
  isReachable,
  KeyFile,
  loadCatalogue,
  ModelClient,
  referenceOf,
  type ThinkingLevel,
  usableModels,
} from "@bonsai-agent/models";
import { whyUnusable } from "@bonsai-agent/models/host";
import { scenarioModel } from "@bonsai-agent/models/scripted";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import type { OfflineGuard } from "./offline-guard.ts";
import type { Notice, Output } from "./output.ts";
import { agentCallSettings } from "./settings.ts";

/** The models of a call, and the client that calls them. */
export interface ModelRegistry {
  catalogue: Catalogue;
  keys: KeyFile;
  client: ModelClient;
  /** The base of a scenario file's path. */
  cwd: string;
  /** With `--offline`: allows only connections to the chosen model. */
  offline?: OfflineGuard;
  onNotice: (notice: Notice) => void;
}

/** A model, with the thinking level in its name. */
export interface ModelChoice {
  model: CatalogueModel;
  thinking?: ThinkingLevel;
}

interface ModelWish {
  /** The model of `--model`, or of a command. */
  named?: string | undefined;
  origin?: Session | undefined;
  /** The model of the session before. */
  before?: CatalogueModel | undefined;
  usual?: string | undefined;
  /** The model if none is usable. Default: an error. */
  spare?: CatalogueModel | undefined;
}

/**
 * Order: the named model, the session's, the one of the session before, the setting, the first usable one. An
 * unusable model of the session is a notice.
 * @throws BonsaiError `no_model`, and the catalogue's errors for a named model
 */
export async function chooseModel(models: ModelRegistry, wish: ModelWish): Promise<ModelChoice> {
  if (wish.named !== undefined) return findWanted(models, wish.named);
  const own = wish.origin?.settings().model;
  if (own === undefined) return otherModel(models, wish, { mustAnswer: false });
  const reference = `${own.provider}/${own.modelId}`;
  const found = await usableModel(models, reference);
  if (typeof found !== "string") return { model: found };
  const gone = `This session used ${reference}, which is not available: ${found}`;
  const other = await otherModel(models, wish, { mustAnswer: true }).catch((error: unknown) => {
    models.onNotice({ code: "session_model_gone", message: gone });
    throw error;
  });
  const { model } = other;
  const goesOn = model === wish.spare ? "" : ` Using ${model.provider}/${model.id} instead.`;
  models.onNotice({ code: "session_model_gone", message: `${gone}${goesOn}` });
  return other;
}

/** @param mustAnswer skips an unusable setting if another model is usable */
async function otherModel(
  models: ModelRegistry,
  { before, usual, spare }: ModelWish,
  { mustAnswer }: { mustAnswer: boolean },
): Promise<ModelChoice> {
  if (before !== undefined) return { model: before };
  const usualChoice = usual === undefined ? undefined : await findWanted(models, usual);
  if (
    usualChoice !== undefined &&
    !(mustAnswer && (await whyUnusable(usualChoice.model, models)) !== undefined)
  )
    return usualChoice;
  const usable = await defaultModel(models);
  if (usable !== undefined) return { model: usable.model };
  if (usualChoice !== undefined) return usualChoice;
  if (spare !== undefined) return { model: spare };
  throw new BonsaiError({
    code: "no_model",
    message: "No model available: found no API key and no local server.",
    hint:
      "Run `bonsai login`, set an API key such as ANTHROPIC_API_KEY, start a local server such as Ollama, or choose a model with --model. " +
      "Run `bonsai models` to list models. `bonsai demo` needs no model.",
  });
}

/** Finds the model to work with: `--offline` allows its server. */
export function findWanted(models: ModelRegistry, reference: string): Promise<ModelChoice> {
  models.offline?.choose(namedProvider(models, reference) ?? { baseUrl: "" });
  return findChoice(models, reference);
}

export async function findModel(models: ModelRegistry, reference: string): Promise<CatalogueModel> {
  return (await findChoice(models, reference)).model;
}

/**
 * Finds a model and the thinking level in its name.
 * @throws BonsaiError `model_unknown`, `model_ambiguous`, `provider_unknown`, and the errors of a scenario file
 */
export async function findChoice(models: ModelRegistry, wanted: string): Promise<ModelChoice> {
  const { catalogue, keys, cwd } = models;
  const { reference, ...level } = catalogue.divide(wanted);
  const [, scenario] = /^scripted\/(.*)/s.exec(reference) ?? [];
  const model =
    scenario === undefined
      ? await catalogue.find(reference, { apiKey: (provider) => keys.key(provider) })
      : scenarioModel(resolve(cwd, scenario));
  return { model, ...level };
}

/** Joins `--provider` and `--model`, which may repeat the provider. */
export function namedReference(
  { catalogue }: ModelRegistry,
  { model, provider }: Invocation["options"],
): string | undefined {
  if (typeof model !== "string") return undefined;
  if (typeof provider !== "string") return model;
  const whole = `${provider}/${model}`;
  const { reference } = catalogue.divide(whole);
  const isKnown = catalogue.models.some((each) => `${each.provider}/${each.id}` === reference);
  return !isKnown && model.startsWith(`${provider}/`) ? model : whole;
}

/** Uses the key of `--api-key` for the provider of `--model`, in this run only. @throws BonsaiError `wrong_usage` */
export function lendKey(models: ModelRegistry, options: Invocation["options"]): void {
  const { apiKey } = options;
  if (typeof apiKey !== "string") return;
  const { catalogue, keys } = models;
  const wanted = namedReference(models, options) ?? "";
  const { reference } = catalogue.divide(wanted);
  const found = namedProvider(models, reference);
  if (found !== undefined) {
    keys.lend(found.provider, apiKey);
    return;
  }
  // Finding a model of an unknown provider lists the known ones.
  if (reference.includes("/")) return;
  throw new BonsaiError({
    code: "wrong_usage",
    message: `--api-key needs a provider, but ${JSON.stringify(wanted)} does not name one.`,
    hint: "Write `--model PROVIDER/ID`.",
  });
}

function namedProvider({ catalogue }: ModelRegistry, reference: string) {
  return (
    catalogue.providers.find(({ provider }) => reference.startsWith(`${provider}/`)) ??
    catalogue.models.find(({ id }) => id === reference)
  );
}

/** Finds a model by its name. Returns the reason if it is unusable now. */
export async function usableModel(
  models: ModelRegistry,
  reference: string,
): Promise<CatalogueModel | string> {
  try {
    const { model } = await findWanted(models, reference);
    const why = await whyUnusable(model, models);
    return why === undefined ? model : `${why}.`;
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    return error.message;
  }
}

interface OpenModelsOptions {
  io: CliIo;
  home: string;
  settings: AgentSettings;
  onNotice: (notice: Notice) => void;
}

/** @throws BonsaiError for an unreadable catalogue or key file */
export async function openModels({
  io,
  home,
  settings,
  onNotice,
}: OpenModelsOptions): Promise<ModelRegistry> {
  const { env, cwd } = io;
  const keys = new KeyFile({ home, env, onNotice });
  const catalogue = await loadCatalogue({ home, env });
  const { bodyless429IsOverflow } = settings.compaction;
  const client = new ModelClient({ keys, retry: settings.retry, bodyless429IsOverflow });
  return { catalogue, keys, client, cwd, onNotice };
}

/** Finds a model that makes summaries. Sends nothing, so it needs no key. */
export async function namedModel(
  invocation: Invocation,
  reference: string,
): Promise<ModelSummaries & { model: CatalogueModel }> {
  const { io, output } = invocation;
  const home = bonsaiHome(io.env);
  const settings = agentCallSettings(invocation);
  const models = await openModels({ io, home, settings, onNotice: (notice) => output.notify(notice) });
  const model = await findModel(models, reference);
  return { model, ...modelSummaries(models.client, model, output) };
}

interface ModelSummaries {
  summariser: Summariser;
  /** Called with the reason if the provider cannot write the summary of a branch. */
  onProviderUnavailable(reason: string): void;
}

export function modelSummaries(client: ModelClient, model: CatalogueModel, output: Output): ModelSummaries {
  return {
    summariser: summariserFor({
      ...{ models: client, model },
      onNotice: (notice) => output.notify(modelNotice(notice)),
    }),
    onProviderUnavailable: (reason) => output.notify(branchSummaryAsText(reason)),
  };
}

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
