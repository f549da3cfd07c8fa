import {
  type ExtensionModels,
  type ModelRegistry,
  modelRegistryOf,
  registerProvider,
} from "@bonsai-agent/extension/host";
import {
  type CatalogueModel,
  isReachable,
  KeyFile,
  loadCatalogue,
  ModelClient,
  type ThinkingLevel,
} from "@bonsai-agent/models";
import { scenarioModel } from "@bonsai-agent/models/scripted";
import { bonsaiHome } from "@bonsai-agent/session";
import { inUse } from "../context-in-use.ts";
import { bonsaiModel, type GivenModel, type PiModel, piModel } from "../models/model.ts";
import { bonsaiProvider, type PiProvider } from "../models/provider.ts";
import { piRegistry } from "../models/registry.ts";

/** pi's models and keys, on Bonsai's catalogue. */
export class ModelRuntime {
  /** Bonsai's own models. */
  readonly models: ExtensionModels;
  /** The selected model of the program that runs the extension. */
  readonly current: CatalogueModel | undefined;
  readonly #registry: ModelRegistry;
  /** By provider: removes a registration of this object. */
  readonly #registered = new Map<string, () => void>();

  private constructor(models: ExtensionModels, current: CatalogueModel | undefined) {
    this.models = models;
    this.current = current;
    const registry = modelRegistryOf({ models: () => models, current: () => current, onNotice: () => {} });
    this.#registry = piRegistry(registry);
  }

  /** The models of the program that runs the extension, else those of Bonsai's folder. @throws errors of reading the catalogue */
  static async create(): Promise<ModelRuntime> {
    const used = inUse();
    const models = await (used?.extension.host?.models() ?? openModels());
    return new ModelRuntime(models, used?.context.model);
  }

  /** The catalogue's models and the current one: a scenario's model is in no catalogue. */
  getModels(provider?: string): PiModel[] {
    const all = this.#registry.getAll() as PiModel[];
    const current = this.current && piModel(this.current);
    const isListed = all.some((model) => model.provider === current?.provider && model.id === current.id);
    const models = current === undefined || isListed ? all : [...all, current];
    return models.filter((model) => provider === undefined || model.provider === provider);
  }

  getModel(provider: string, id: string): PiModel | undefined {
    return this.getModels(provider).find((model) => model.id === id);
  }

  async getAvailable(provider?: string): Promise<PiModel[]> {
    return this.getModels(provider).filter((model) => this.hasConfiguredAuth(model));
  }

  hasConfiguredAuth(given: string | GivenModel): boolean {
    const { catalogue, keys } = this.models;
    const config =
      typeof given === "string"
        ? catalogue.providers.find(({ provider }) => provider === given)
        : bonsaiModel(given);
    return config !== undefined && isReachable(config, keys);
  }

  /** Bonsai reads its catalogue when it changes. */
  async refresh(): Promise<{ aborted: boolean; errors: Map<string, Error> }> {
    return { aborted: false, errors: new Map() };
  }

  /** @throws BonsaiError `pi_provider_invalid`, `provider_options_invalid` */
  registerProvider(id: string, config: PiProvider): void {
    const ignore = () => {};
    const { name, options } = bonsaiProvider(id, config, ignore);
    this.unregisterProvider(name);
    this.#registered.set(
      name,
      registerProvider(() => this.models, name, options, ignore),
    );
  }

  registerNativeProvider(provider: PiProvider): void {
    this.registerProvider(provider.id ?? "", provider);
  }

  unregisterProvider(id: string): void {
    this.#registered.get(id)?.();
    this.#registered.delete(id);
  }
}

async function openModels(): Promise<ExtensionModels> {
  const { env } = process;
  const home = bonsaiHome();
  const keys = new KeyFile({ home, env });
  return { catalogue: await loadCatalogue({ home, env }), keys, client: new ModelClient({ keys }) };
}

interface ResolvedModel {
  model: PiModel | undefined;
  thinkingLevel?: ThinkingLevel;
  warning: string | undefined;
  error: string | undefined;
}

/** The model of a user's flag: an id or `provider/id`, perhaps with `:level`. */
export function resolveCliModel({
  cliModel,
  modelRuntime,
}: {
  cliModel?: string;
  modelRuntime: ModelRuntime;
}): ResolvedModel {
  if (!cliModel) return { model: undefined, warning: undefined, error: undefined };
  const { reference, thinking } = modelRuntime.models.catalogue.divide(cliModel);
  const model = namedModel(reference, modelRuntime);
  const error =
    model === undefined
      ? `Model "${reference}" not found. Use ctx.modelRegistry.getAvailable() for available models.`
      : undefined;
  return { model, ...(model && thinking && { thinkingLevel: thinking }), warning: undefined, error };
}

/** Prefers exact names, then unlisted models of known providers, then names that contain the reference. */
function namedModel(reference: string, runtime: ModelRuntime): PiModel | undefined {
  const lower = reference.toLowerCase();
  const namesOf = ({ provider, id, name }: PiModel) =>
    [id, `${provider}/${id}`, name].map((each) => each.toLowerCase());
  const all = runtime.getModels();
  const usable = (models: PiModel[]) => models.find((model) => runtime.hasConfiguredAuth(model)) ?? models[0];
  return (
    usable(all.filter((model) => namesOf(model).slice(0, 2).includes(lower))) ??
    unlistedModel(reference, runtime) ??
    usable(all.filter((model) => namesOf(model).some((name) => name.includes(lower))))
  );
}

/** A scenario's model, or a model that a known provider may have although the catalogue does not list it. */
function unlistedModel(reference: string, { models }: ModelRuntime): PiModel | undefined {
  const [, provider, id] = /^([^/]+)\/(.+)$/.exec(reference) ?? [];
  if (id === undefined) return undefined;
  if (provider === "scripted") return piModel(scenarioModel(id));
  const config = models.catalogue.providers.find((each) => each.provider === provider);
  return config && piModel(bonsaiModel({ ...config, id } as never));
}
