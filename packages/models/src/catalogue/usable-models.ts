import {
  type CatalogueModel,
  canThink,
  isLoopback,
  isReachable,
  type KeyOrigin,
  type ProviderConfig,
} from "../model.ts";
import type { Catalogue } from "./catalogue.ts";
import { isOwnServer, modelsUrl, runningWindow, serverModels, serverTimeout } from "./server-models.ts";

/** A usable model and the place of its key. */
export interface UsableModel {
  model: CatalogueModel;
  /** Absent if no key is needed. */
  keyOrigin?: KeyOrigin | undefined;
}

interface UsableModelsOptions {
  catalogue: Pick<Catalogue, "providers" | "models">;
  keys: {
    key(provider: ProviderConfig): string | undefined;
    source(provider: ProviderConfig): KeyOrigin | undefined;
  };
  /** Ends the requests to servers early. */
  signal?: AbortSignal | undefined;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** The models of all providers that have a key, or need none and answer, in the catalogue's order. */
export async function usableModels(options: UsableModelsOptions): Promise<UsableModel[]> {
  const lists = await Promise.all(options.catalogue.providers.map((each) => usableOf(each, options)));
  return lists.flat();
}

/**
 * The model to use without a choice of the user: the default of the first provider with a key, else the first model with a
 * key, else the first model of a local server. Asks servers only without a key.
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

/**
 * Returns the reason why a known model cannot be used now: no key, or no server answers. Does not ask a far provider with
 * a key.
 */
export async function whyUnusable(
  model: CatalogueModel,
  { keys, fetch = globalThis.fetch }: Pick<UsableModelsOptions, "fetch" | "keys">,
): Promise<string | undefined> {
  if (model.missing !== undefined) return model.missing.replace(/\.$/, "");
  if (!isReachable(model, keys)) return missingKey(model);
  if (!isOwnServer(model) || !isAskable(model)) return undefined;
  const signal = serverTimeout();
  const response = await fetch(modelsUrl(model), { signal, redirect: "manual" }).catch(() => undefined);
  await response?.body?.cancel().catch(() => {});
  // A server on this machine that accepts the connection and is slow is busy.
  if (response !== undefined || (signal.aborted && isLoopback(model))) return undefined;
  return `no server answers at ${model.baseUrl}`;
}

function missingKey({ apiKeyEnv, provider, login }: ProviderConfig): string {
  if (apiKeyEnv === undefined) return `it needs a login (/login ${provider})`;
  const other = login === undefined ? "" : ` and you are not logged in (/login ${provider})`;
  return `${apiKeyEnv} is not set${other}`;
}

function isAskable({ api, hasOwnClient = false }: ProviderConfig): boolean {
  return api !== "scripted" && api !== "extension" && !hasOwnClient;
}

async function usableOf(provider: ProviderConfig, options: UsableModelsOptions): Promise<UsableModel[]> {
  const { catalogue, keys } = options;
  const listed = catalogue.models.filter((model) => model.provider === provider.provider);
  const keyOrigin = keys.source(provider);
  const isReady = keyOrigin !== undefined && listed.length > 0;
  if (!isReachable(provider, keys)) return [];
  const models = !isReady && isAskable(provider) ? await servedModels(provider, listed, options) : listed;
  return models.map((model) => ({ model, keyOrigin }));
}

/** The models that the server lists, with the known sizes of the catalogue. */
async function servedModels(
  provider: ProviderConfig,
  listed: readonly CatalogueModel[],
  { keys, signal, fetch }: UsableModelsOptions,
): Promise<CatalogueModel[]> {
  const timeout = serverTimeout();
  const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const query = { provider, apiKey: keys.key(provider), signal: both, fetch };
  const reasoning = canThink(provider.compat);
  const served = (await serverModels(query)) ?? [];
  return Promise.all(
    served.map(async ({ id, contextWindow, maxOutputTokens }) => {
      const known = listed.find((model) => model.id === id);
      const base = known ?? { ...provider, id, name: id, input: ["text" as const], reasoning };
      return {
        ...base,
        contextWindow: base.contextWindow ?? (await runningWindow(query, id)) ?? contextWindow,
        maxOutputTokens: base.maxOutputTokens ?? maxOutputTokens,
      };
    }),
  );
}

/** A current coding model of the middle price of each provider, the best first. */
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
