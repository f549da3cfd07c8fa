import { resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  type Catalogue,
  type CatalogueModel,
  defaultModel,
  type KeyFile,
  scenarioModel,
} from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { Notice } from "../output.ts";

export interface ModelShelf {
  catalogue: Catalogue;
  keys: KeyFile;
  /** Where the path of a scenario file starts. */
  cwd: string;
  onNotice: (notice: Notice) => void;
}

export interface ModelWish {
  /** `--model`, or the one that a command names. */
  named?: string | undefined;
  /** The session that is gone on with. */
  origin?: Session | undefined;
  /** What the session that is left was worked on with. */
  before?: CatalogueModel | undefined;
  /** The `model` of the settings. */
  usual?: string | undefined;
  /** Stands where no model can be used; default: that is an error. */
  spare?: CatalogueModel | undefined;
}

/**
 * The model to work with: the one that was named, else the session's own, else the one of the session before, else the
 * usual one, else the first that can be used.
 * @throws BonsaiError `no_model` where there is no spare one, and what the catalogue throws for one that was named.
 */
export async function chooseModel(
  shelf: ModelShelf,
  { named, origin, before, usual, spare }: ModelWish,
): Promise<CatalogueModel> {
  if (named !== undefined) return findModel(shelf, named);
  const own = origin?.settings().model;
  const earlier = own === undefined ? undefined : await earlierModel(shelf, `${own.provider}/${own.modelId}`);
  if (earlier !== undefined) return earlier;
  if (before !== undefined) return before;
  if (usual !== undefined) return findModel(shelf, usual);
  const usable = await defaultModel(shelf);
  if (usable !== undefined) return usable.model;
  if (spare !== undefined) return spare;
  throw new BonsaiError({
    code: "no_model",
    message: "No model can be used: no key was found, and no local server answers.",
    hint:
      "Set a key like ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local server like Ollama, or name a model with --model. " +
      "`bonsai models` lists what can be used; `bonsai demo` works without any.",
  });
}

/** @throws BonsaiError `model_unknown`, `model_ambiguous`, `provider_unknown`, and of a scenario file what reading it throws. */
export async function findModel(
  { catalogue, keys, cwd }: ModelShelf,
  reference: string,
): Promise<CatalogueModel> {
  const [name] = reference.split("/", 1);
  if (name === "scripted") return scenarioModel(resolve(cwd, reference.slice("scripted/".length)));
  return catalogue.find(reference, { apiKey: (provider) => keys.key(provider) });
}

/** The model of an earlier day may be gone from the catalogue: then another goes on, and its user is told. */
async function earlierModel(shelf: ModelShelf, reference: string): Promise<CatalogueModel | undefined> {
  try {
    return await findModel(shelf, reference);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    shelf.onNotice({
      code: "session_model_gone",
      message: `This session was worked on with ${reference}, which cannot be used now: ${error.message}`,
    });
    return undefined;
  }
}
