import { isReachable, type KeyFile, type KeyOrigin } from "../keys/keys.ts";
import { type CatalogueModel, canThink, isLoopback, type ProviderConfig } from "../model.ts";
import type { Catalogue } from "./catalogue.ts";
import {
  isAnswered,
  modelsUrl,
  runningWindow,
  type ServedModel,
  type ServerQuestion,
  servedModels,
} from "./server-window.ts";

/** Asks a server what it serves; undefined when it does not answer. */
export type ProbeServer = (question: ServerQuestion) => Promise<readonly ServedModel[] | undefined>;

/** A model that can be asked now, and where its key comes from. */
export interface UsableModel {
  /** What can be asked. */
  model: CatalogueModel;
  /** Absent where no key is needed. */
  keyOrigin?: KeyOrigin | undefined;
}

/** Which models are looked at, and how. */
export interface UsableModelsOptions {
  /** The known ones. */
  catalogue: Pick<Catalogue, "providers" | "models">;
  /** Where keys come from. */
  keys: Pick<KeyFile, "key" | "source">;
  /** Default: `GET {baseUrl}/models`, and for models without a window what else a local server reports of them. */
  probe?: ProbeServer | undefined;
  /** Ends the probes early. */
  signal?: AbortSignal | undefined;
}

/** A server on this machine answers within a few milliseconds; nobody should wait for one that does not. */
const probeTimeoutMs = 400;
/** One with a key, and without a list of its own here. */
const listTimeoutMs = 1_500;
/** So many windows of one server are asked for. */
const mostSized = 20;

/** The models of all providers that have a key, or need none and answer; providers in the catalogue's order. */
export async function usableModels(options: UsableModelsOptions): Promise<UsableModel[]> {
  const lists = await Promise.all(options.catalogue.providers.map((each) => usableOf(each, options)));
  return lists.flat();
}

/**
 * What to use when nobody named a model: the default of the first provider with a key, else the first model with a
 * key, else the first that a local server has; undefined when nothing is usable. Servers are asked only without a key.
 */
export async function defaultModel(options: UsableModelsOptions): Promise<UsableModel | undefined> {
  const { catalogue, keys } = options;
  for (const [provider, id] of defaultModels) {
    const model = catalogue.models.find((each) => each.provider === provider && each.id === id);
    if (model !== undefined && keys.key(model) !== undefined) return { model, keyOrigin: keys.source(model) };
  }
  const usable = await usableModels(options);
  return usable.find(({ keyOrigin }) => keyOrigin !== undefined) ?? usable[0];
}

/** How it is found out. */
export interface WhyUnusableOptions {
  /** Where keys come from. */
  keys: Pick<KeyFile, "key">;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** One on another machine may take its time. */
const farTimeoutMs = 3_000;

/**
 * Why a model that the catalogue knows cannot be asked now: it needs a key and there is none, or no server answers where
 * it should be. Undefined where nothing speaks against it; a provider that has a key and is not on this machine is not asked.
 */
export async function whyUnusable(
  model: CatalogueModel,
  { keys, fetch = globalThis.fetch }: WhyUnusableOptions,
): Promise<string | undefined> {
  if (model.missing !== undefined) return model.missing.replace(/\.$/, "");
  if (!isReachable(model, keys)) return missingKey(model);
  const isOwn = isLoopback(model) || (model.apiKeyEnv === undefined && model.login === undefined);
  if (!isOwn || !isAskable(model)) return undefined;
  const signal = AbortSignal.timeout(isLoopback(model) ? probeTimeoutMs : farTimeoutMs);
  const isThere = await isAnswered(modelsUrl(model), { fetch, signal });
  // On this machine, one that takes the connection and says nothing yet is at work.
  if (isThere || (signal.aborted && isLoopback(model))) return undefined;
  return `no server answers at ${model.baseUrl}`;
}

/** What a provider lacks whose key is missing: the variable, or the login. */
export function missingKey({ apiKeyEnv, provider, login }: ProviderConfig): string {
  if (apiKeyEnv === undefined) return `it needs a login (/login ${provider})`;
  const other = login === undefined ? "" : ` and you are not logged in (/login ${provider})`;
  return `${apiKeyEnv} is not set${other}`;
}

/** True where there is a server that can be asked what it serves. */
function isAskable({ api, hasOwnClient = false }: ProviderConfig): boolean {
  return api !== "scripted" && api !== "extension" && !hasOwnClient;
}

async function usableOf(provider: ProviderConfig, options: UsableModelsOptions): Promise<UsableModel[]> {
  const { catalogue, keys } = options;
  const listed = catalogue.models.filter((model) => model.provider === provider.provider);
  const keyOrigin = keys.source(provider);
  const isReady = keyOrigin !== undefined && listed.length > 0;
  if (!isReachable(provider, keys)) return [];
  const models = !isReady && isAskable(provider) ? await answered(provider, listed, options) : listed;
  return models.map((model) => ({ model, keyOrigin }));
}

/** What a server has at hand; what is listed of it counts only where it is served. */
async function answered(
  provider: ProviderConfig,
  listed: readonly CatalogueModel[],
  { keys, probe = probeServer, signal }: UsableModelsOptions,
): Promise<CatalogueModel[]> {
  const timeout = AbortSignal.timeout(isLoopback(provider) ? probeTimeoutMs : listTimeoutMs);
  const served = await probe({
    provider,
    apiKey: keys.key(provider),
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  return (served ?? []).map(({ id, contextWindow, maxOutputTokens }) => {
    const known = listed.find((model) => model.id === id);
    const reasoning = canThink(provider.compat);
    const base = known ?? { ...provider, id, name: id, input: ["text" as const], reasoning };
    return {
      ...base,
      contextWindow: base.contextWindow ?? contextWindow,
      maxOutputTokens: base.maxOutputTokens ?? maxOutputTokens,
    };
  });
}

const probeServer: ProbeServer = async (question) => {
  const models = await servedModels(question);
  if (models === undefined) return undefined;
  return Promise.all(
    models.map(async (model, at) => {
      const running = at < mostSized ? await runningWindow(question, model.id) : undefined;
      return { ...model, contextWindow: running ?? model.contextWindow };
    }),
  );
};

/** What to use when nobody named a model: a current coding model of the middle price of each provider, best first. */
export const defaultModels: readonly (readonly [provider: string, id: string])[] = [
  ["anthropic", "claude-sonnet-5-5"],
  ["openai", "gpt-6.1-sol"],
  ["google", "gemini-4-argon"],
  ["moonshotai", "kimi-k3.1-pro"],
  ["zai", "glm-5.3"],
  ["xai", "grok-4.7"],
  ["deepseek", "deepseek-v4-pro"],
  ["mistral", "devstral-latest"],
  ["openrouter", "anthropic/claude-sonnet-5.5"],
  ["groq", "openai/gpt-oss-120b"],
];
