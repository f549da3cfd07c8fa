import type { AgentNotice } from "@bonsai-agent/agent";
import { modelNotice } from "@bonsai-agent/agent/host";
import { type AssistantMessage, addUsage, BonsaiError, type Usage } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  finalEvent,
  isReachable,
  type KeyFile,
  type ModelNotice,
  type ModelRequest,
  type ProviderConfig,
} from "@bonsai-agent/models";
import type { AskOptions, ModelContext, ModelRegistry, RequestAuth } from "../api/extension-context.ts";
import type { ExtensionHost, ExtensionModels } from "./extension-host.ts";

interface ModelRegistryOptions {
  models: OpenedModels;
  /** The current model, which may be in no catalogue. */
  current: () => CatalogueModel | undefined;
  onNotice: (notice: AgentNotice) => void;
}

/** The host's models, for extensions. */
export function modelRegistryOf({ models, current, onNotice }: ModelRegistryOptions): ModelRegistry {
  const all = () => [...models().catalogue.models];
  const notify = (notice: ModelNotice) => onNotice(modelNotice(notice));
  return {
    getAll: all,
    getAvailable: () => all().filter((model) => isReachable(model, models().keys)),
    find(provider, modelId) {
      const isMeant = (model: CatalogueModel) => model.provider === provider && model.id === modelId;
      const inUse = current();
      return all().find(isMeant) ?? (inUse !== undefined && isMeant(inUse) ? inUse : undefined);
    },
    hasConfiguredAuth: (model) => isReachable(model, models().keys),
    async getApiKeyForProvider(provider) {
      const { catalogue, keys } = models();
      const config = catalogue.providers.find((each) => each.provider === provider);
      return config === undefined ? undefined : freshKey(keys, config);
    },
    getApiKeyAndHeaders: async (model) => requestAuth(model, models),
    async complete(model, context, options) {
      const voided: Usage[] = [];
      const request = {
        ...requestOf(model, context, options, notify),
        onVoidedUsage: (each: Usage) => voided.push(each),
      };
      const { message } = await finalEvent(models().client.stream(request));
      return withVoided(message, voided);
    },
    stream: (model, context, options) => models().client.stream(requestOf(model, context, options, notify)),
  };
}

function requestOf(
  model: CatalogueModel,
  { systemPrompt = "", messages, tools = [] }: ModelContext,
  { maxTokens, signal, reasoning = "off" }: AskOptions = {},
  onNotice: (notice: ModelNotice) => void,
): ModelRequest {
  return {
    model,
    purpose: "extension",
    systemPrompt,
    tools,
    messages,
    maxOutputTokens: maxTokens,
    thinking: reasoning,
    signal,
    onNotice,
  };
}

/** Adds the usage of abandoned attempts. */
function withVoided(message: AssistantMessage, voided: readonly Usage[]): AssistantMessage {
  return voided.length === 0 ? message : { ...message, usage: voided.reduce(addUsage, message.usage) };
}

/** Refreshes a login that expires soon. */
async function freshKey(keys: KeyFile, provider: ProviderConfig): Promise<string | undefined> {
  return keys.freshKey === undefined ? keys.key(provider) : keys.freshKey(provider);
}

async function requestAuth(model: CatalogueModel, models: OpenedModels): Promise<RequestAuth> {
  try {
    const { keys } = models();
    const { headers, baseUrl, apiKeyEnv, provider } = model;
    const apiKey = await freshKey(keys, model);
    if (apiKey === undefined && !isReachable(model, undefined)) {
      const remedy = apiKeyEnv === undefined ? `run /login ${provider}` : `set ${apiKeyEnv}`;
      return { ok: false, error: `No API key for ${provider}. To add one, ${remedy}.` };
    }
    return { ok: true, ...(apiKey === undefined ? {} : { apiKey }), ...(headers && { headers }), baseUrl };
  } catch (error) {
    const hint = BonsaiError.is(error) ? ` ${error.hint}` : "";
    return { ok: false, error: (error instanceof Error ? error.message : String(error)) + hint };
  }
}

/**
 * The host's models, opened before the first extension loads, because extensions use them at once. Throws the error of
 * opening them.
 */
export type OpenedModels = () => ExtensionModels;

/** Never rejects: an error is thrown when an extension uses the models. */
export async function openModels(host: Pick<ExtensionHost, "models">): Promise<OpenedModels> {
  try {
    const models = await host.models();
    return () => models;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
