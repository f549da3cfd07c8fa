import type { ProviderConfig } from "../catalogue-model.ts";
import { isLoopback } from "./local-providers.ts";
import { loadedWindow, serverRoot, shownWindow } from "./ollama-window.ts";
import { member } from "./server-json.ts";
import { ask, type ServerQuestion, size } from "./server-question.ts";

/** Sizes of a model in tokens, as far as its server tells. */
export interface ServerSizes {
  contextWindow?: number | undefined;
  maxOutputTokens?: number | undefined;
}

/** A model as the server's list has it. */
export interface ServedModel extends ServerSizes {
  id: string;
}

/** What a server has at hand, `GET {baseUrl}/models`; undefined when it does not answer. */
export async function servedModels(question: ServerQuestion): Promise<ServedModel[] | undefined> {
  const list = await ask(question, modelsUrl(question.provider));
  const entries = member(list, "data") ?? member(list, "models");
  if (!Array.isArray(entries)) return undefined;
  return entries.flatMap((entry) => {
    const id = member(entry, "id") ?? member(entry, "name");
    return typeof id === "string" && !notForTalk.test(id) ? [{ id, ...listedSizes(entry) }] : [];
  });
}

/** Servers list models of every kind; these cannot hold a conversation. */
const notForTalk = /embed|rerank|whisper|\btts\b|moderation/i;

/**
 * A model's sizes as its server tells them. What runs now (llama.cpp, LM Studio, Ollama) goes before what the model
 * was made for: such a server may have been started with a far smaller window.
 */
export async function serverSizes(question: ServerQuestion, modelId: string): Promise<ServerSizes> {
  const [listed, running] = await Promise.all([
    listedModel(question, modelId),
    runningWindow(question, modelId),
  ]);
  return { ...listed, ...(running === undefined ? {} : { contextWindow: running }) };
}

/** On this machine, or without a key: only such servers are asked in their own dialects. */
function isOwnServer(provider: ProviderConfig): boolean {
  return isLoopback(provider) || provider.apiKeyEnv === undefined;
}

async function listedModel(question: ServerQuestion, modelId: string): Promise<ServerSizes> {
  if (question.provider.api === "anthropic-messages")
    return listedSizes(await ask(question, `${modelsUrl(question.provider)}/${encodeURIComponent(modelId)}`));
  const models = await servedModels(question);
  const { contextWindow, maxOutputTokens } = models?.find(({ id }) => id === modelId) ?? {};
  return { contextWindow, maxOutputTokens };
}

/** The window that a server of one's own runs a model with; undefined where it does not tell. */
export async function runningWindow(question: ServerQuestion, modelId: string): Promise<number | undefined> {
  if (!isOwnServer(question.provider)) return undefined;
  const root = serverRoot(question.provider);
  const [props, studio, loaded, shown] = await Promise.all([
    // A router would load the model for the question otherwise.
    ask(question, `${root}/props?model=${encodeURIComponent(modelId)}&autoload=false`),
    ask(question, `${root}/api/v0/models/${modelId.split("/").map(encodeURIComponent).join("/")}`),
    loadedWindow(question, modelId),
    shownWindow(question, modelId),
  ]);
  return (
    size(member(props, "default_generation_settings", "n_ctx")) ??
    size(member(studio, "loaded_context_length")) ??
    size(member(studio, "max_context_length")) ??
    loaded ??
    shown
  );
}

const windowKeys = [
  ["context_length"],
  ["max_model_len"],
  ["context_window"],
  ["max_context_length"],
  ["max_input_tokens"],
  ["inputTokenLimit"],
  ["top_provider", "context_length"],
  ["meta", "n_ctx"],
  ["meta", "n_ctx_train"],
] as const;

const outputKeys = [
  ["top_provider", "max_completion_tokens"],
  ["max_completion_tokens"],
  ["max_output_tokens"],
  ["max_tokens"],
] as const;

function listedSizes(entry: unknown): ServerSizes {
  return { contextWindow: firstSize(entry, windowKeys), maxOutputTokens: firstSize(entry, outputKeys) };
}

function firstSize(entry: unknown, keys: readonly (readonly string[])[]): number | undefined {
  return keys.map((path) => size(member(entry, ...path))).find((found) => found !== undefined);
}

/** Anthropic's address is given without the version. */
export function modelsUrl({ api, baseUrl }: ProviderConfig): string {
  return api === "anthropic-messages" ? `${baseUrl}/v1/models` : `${baseUrl}/models`;
}
