import { dirname } from "node:path";
import {
  type ExtensionModels,
  type ModelRegistry,
  modelRegistryOf,
  registerProvider,
} from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { type CatalogueModel, isReachable, KeyFile, loadCatalogue, ModelClient } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import { bonsaiModel, type GivenModel, type PiModel, piModel } from "../models/model.ts";
import { bonsaiProvider, type PiProvider } from "../models/provider.ts";
import { piRegistry } from "../models/registry.ts";
import { contextInUse, hostInUse, type PiAskOptions, type PiContext } from "../models/requests.ts";
import type { AssistantMessageEventStream } from "../models/streams.ts";

interface RuntimeOptions {
  /** Default: the models of the program that runs the extension, else those of Bonsai's folder. */
  authPath?: string;
  modelsPath?: string | null;
}

type Ask<Answer> = (model: GivenModel, context: PiContext, options?: PiAskOptions) => Answer;

interface PiRegistry {
  getAll(): PiModel[];
  stream: Ask<AssistantMessageEventStream>;
  complete: Ask<Promise<unknown>>;
}

/** pi's models and keys, on Bonsai's catalogue. */
export class ModelRuntime {
  readonly #models: ExtensionModels;
  readonly #current: CatalogueModel | undefined;
  readonly #registry: ModelRegistry;
  readonly #pi: PiRegistry;
  /** By provider: takes out what was registered here. */
  readonly #registered = new Map<string, { config: PiProvider; undo: () => void }>();
  readonly #lent = new Map<string, () => void>();

  private constructor(models: ExtensionModels, current: CatalogueModel | undefined) {
    this.#models = models;
    this.#current = current;
    this.#registry = modelRegistryOf({ models: () => models, current: () => current, onNotice: () => {} });
    this.#pi = piRegistry(this.#registry) as unknown as PiRegistry;
  }

  /** @throws BonsaiError for a catalogue that cannot be read */
  static async create({ authPath, modelsPath }: RuntimeOptions = {}): Promise<ModelRuntime> {
    const own = authPath ?? modelsPath ?? undefined;
    const host = own === undefined ? hostInUse() : undefined;
    if (host !== undefined) return new ModelRuntime(await host.models(), contextInUse()?.model);
    return new ModelRuntime(await openModels(own === undefined ? bonsaiHome() : dirname(own)), undefined);
  }

  /** Bonsai's own models behind it. */
  get models(): ExtensionModels {
    return this.#models;
  }

  /** The model in use of the program that runs the extension. */
  get current(): CatalogueModel | undefined {
    return this.#current;
  }

  getModels(provider?: string): PiModel[] {
    return this.#all().filter((model) => provider === undefined || model.provider === provider);
  }

  getModel(provider: string, id: string): PiModel | undefined {
    return this.#all().find((model) => model.provider === provider && model.id === id);
  }

  async getAvailable(provider?: string): Promise<PiModel[]> {
    return this.getAvailableSnapshot().filter(
      (model) => provider === undefined || model.provider === provider,
    );
  }

  getAvailableSnapshot(): PiModel[] {
    return this.#all().filter((model) => isReachable(bonsaiModel(model), this.#models.keys));
  }

  getProviders(): { id: string; name: string; getModels(): PiModel[] }[] {
    const ids = new Set(this.#models.catalogue.providers.map(({ provider }) => provider));
    return [...ids].map((id) => ({ id, name: id, getModels: () => this.getModels(id) }));
  }

  getProvider(id: string) {
    return this.getProviders().find((provider) => provider.id === id);
  }

  hasConfiguredAuth(provider: string | GivenModel): boolean {
    const config = this.#config(provider);
    return config !== undefined && isReachable(config, this.#models.keys);
  }

  async getAuth(provider: string | GivenModel): Promise<{ auth: object; source: string } | undefined> {
    const config = this.#config(provider);
    if (config === undefined || !isReachable(config, this.#models.keys)) return undefined;
    const auth = await this.#registry.getApiKeyAndHeaders(config as CatalogueModel);
    if (!auth.ok) return undefined;
    const { ok: _ok, ...rest } = auth;
    return { auth: rest, source: this.#models.keys.source(config) ?? "none" };
  }

  async checkAuth(provider: string): Promise<{ type: string; source: string } | undefined> {
    const auth = await this.getAuth(provider);
    return auth === undefined ? undefined : { type: "api_key", source: auth.source };
  }

  getProviderAuthStatus(provider: string): { configured: boolean } {
    return { configured: this.hasConfiguredAuth(provider) };
  }

  getError(): undefined {
    return undefined;
  }

  isUsingOAuth(provider: string): boolean {
    const config = this.#config(provider);
    return config !== undefined && this.#models.keys.source(config) === "login";
  }

  isUsingSubscription(provider: string): boolean {
    return this.isUsingOAuth(provider);
  }

  async listCredentials(): Promise<{ providerId: string; type: string }[]> {
    return this.#models.keys.stored().map((providerId) => ({ providerId, type: "api_key" }));
  }

  async settleCredentialWrites(): Promise<void> {}

  /** Uses the key in this process only. */
  async setRuntimeApiKey(provider: string, apiKey: string): Promise<void> {
    await this.removeRuntimeApiKey(provider);
    this.#lent.set(provider, this.#models.keys.lend(provider, apiKey));
  }

  async removeRuntimeApiKey(provider: string): Promise<void> {
    this.#lent.get(provider)?.();
    this.#lent.delete(provider);
  }

  async refresh(): Promise<{ aborted: boolean; errors: Map<string, Error> }> {
    return { aborted: false, errors: new Map() };
  }

  async login(): Promise<never> {
    throw this.#refusal("login", "Run /login.");
  }

  async logout(): Promise<never> {
    throw this.#refusal("logout", "Run /logout.");
  }

  /** @throws BonsaiError `pi_provider_invalid`, `provider_options_invalid` */
  registerProvider(id: string, config: PiProvider): void {
    const { name, options } = bonsaiProvider(id, config, () => {});
    const before = this.#registered.get(name);
    before?.undo();
    const undo = registerProvider(
      () => this.#models,
      name,
      options,
      () => {},
    );
    this.#registered.set(name, { config, undo });
  }

  registerNativeProvider(provider: PiProvider): void {
    this.registerProvider(provider.id ?? "", provider);
  }

  unregisterProvider(id: string): void {
    this.#registered.get(id)?.undo();
    this.#registered.delete(id);
  }

  getRegisteredProviderConfig(id: string): PiProvider | undefined {
    return this.#registered.get(id)?.config;
  }

  getRegisteredNativeProvider(id: string): PiProvider | undefined {
    return this.getRegisteredProviderConfig(id);
  }

  getRegisteredProviderIds(): string[] {
    return [...this.#registered.keys()];
  }

  readonly stream: PiRegistry["stream"] = (...args) => this.#pi.stream(...args);
  readonly streamSimple: PiRegistry["stream"] = (...args) => this.#pi.stream(...args);
  readonly complete: PiRegistry["complete"] = (...args) => this.#pi.complete(...args);
  readonly completeSimple: PiRegistry["complete"] = (...args) => this.#pi.complete(...args);

  /** The catalogue's, and the one in use: a scenario's model is in no catalogue. */
  #all(): PiModel[] {
    const all = this.#pi.getAll();
    const current = this.#current && piModel(this.#current);
    const isListed = all.some(({ provider, id }) => provider === current?.provider && id === current.id);
    return current === undefined || isListed ? all : [...all, current];
  }

  #config(provider: string | GivenModel) {
    if (typeof provider !== "string") return bonsaiModel(provider);
    return this.#models.catalogue.providers.find((each) => each.provider === provider);
  }

  #refusal(name: string, hint: string): BonsaiError {
    return new BonsaiError({
      code: "pi_method_missing",
      message: `Bonsai does not support ModelRuntime.${name}.`,
      hint,
    });
  }
}

/** For a program of pi's that Bonsai does not run. */
async function openModels(home: string): Promise<ExtensionModels> {
  const { env } = process;
  const keys = new KeyFile({ home, env });
  return { catalogue: await loadCatalogue({ home, env }), keys, client: new ModelClient({ keys }) };
}
