import { type CatalogueModel, loadCatalogue, type ProviderApi, thinkingLevelsOf } from "@bonsai-agent/models";
import { askedThinking } from "@bonsai-agent/models/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { bonsaiModel, type GivenModel, type PiModel, piModel } from "../models/model.ts";
import {
  answerWithKey,
  levelOf,
  type PiAskOptions,
  type PiContext,
  registryInUse,
} from "../models/requests.ts";
import { type AssistantMessageEventStream, piStream } from "../models/streams.ts";

/**
 * What `pi-ai` knows of models without a registry: the host's once an extension has a context, before that those of
 * Bonsai's catalogue.
 */
export async function knownModels(env: NodeJS.ProcessEnv = process.env) {
  const catalogue = await loadCatalogue({ home: bonsaiHome(env), env });
  const all = (): readonly CatalogueModel[] => registryInUse()?.getAll() ?? catalogue.models;
  return {
    getModel(provider: string, id: string): PiModel | undefined {
      const model = all().find((each) => each.provider === provider && each.id === id);
      return model && piModel(model);
    },
    getModels: (provider: string): PiModel[] =>
      all()
        .filter((model) => model.provider === provider)
        .map(piModel),
    getProviders: () => [...new Set(all().map(({ provider }) => provider))],
    /** The provider's key in the environment. */
    getEnvApiKey(provider: string): string | undefined {
      const name = all().find((model) => model.provider === provider)?.apiKeyEnv;
      return name === undefined ? undefined : env[name];
    },
  };
}

export function modelsAreEqual(a: GivenModel | null | undefined, b: GivenModel | null | undefined): boolean {
  return !!a && !!b && a.provider === b.provider && a.id === b.id;
}

/** Those among which the model tells a difference. */
export function getSupportedThinkingLevels(model: GivenModel): readonly string[] {
  const levels = thinkingLevelsOf(bonsaiModel(model));
  return levels.length > 0 ? levels : ["off"];
}

/** The level that stands for what the model would be asked for. */
export function clampThinkingLevel(model: GivenModel, level: string): string {
  const levels = getSupportedThinkingLevels(model);
  if (levels.includes(level)) return level;
  const own = bonsaiModel(model);
  const asked = askedThinking(own, levelOf(level));
  return levels.find((each) => askedThinking(own, levelOf(each)) === asked) ?? levels.at(-1)!;
}

type WireStream = (
  model: GivenModel,
  context: PiContext,
  options?: PiAskOptions,
) => AssistantMessageEventStream;

/** Streams over one protocol, whatever the model says of its own, with the key of the options. */
export function wireStream(api: ProviderApi): WireStream {
  return (model, context, options = {}) =>
    piStream(answerWithKey({ ...bonsaiModel(model), api }, context, options));
}

/** A protocol as a pair of functions, as pi's providers take it. */
export function wireApi(api: ProviderApi): () => { stream: WireStream; streamSimple: WireStream } {
  return () => ({ stream: wireStream(api), streamSimple: wireStream(api) });
}
