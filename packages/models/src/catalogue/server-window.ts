import { isLoopback, type ProviderConfig } from "../model.ts";

/** Sizes of a model in tokens, as far as its server tells. */
export interface ServerSizes {
  /** Input and output together. */
  contextWindow?: number | undefined;
  /** The longest answer. */
  maxOutputTokens?: number | undefined;
}

/** A model as the server's list has it. */
export interface ServedModel extends ServerSizes {
  /** As requests name it. */
  id: string;
}

/** What a server has at hand, `GET {baseUrl}/models`; undefined when it does not answer. */
export async function servedModels(question: ServerQuestion): Promise<ServedModel[] | undefined> {
  const list = await ask(question, modelsUrl(question.provider));
  const entries = Array.isArray(list) ? list : (member(list, "data") ?? member(list, "models"));
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
  return isLoopback(provider) || (provider.apiKeyEnv === undefined && provider.login === undefined);
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
  ["metadata", "context_length"],
  ["limits", "max_input_tokens"],
  ["meta", "n_ctx"],
  ["meta", "n_ctx_train"],
] as const;

const outputKeys = [
  ["top_provider", "max_completion_tokens"],
  ["max_completion_tokens"],
  ["max_output_tokens"],
  ["metadata", "max_tokens"],
  ["limits", "max_output_tokens"],
  ["max_tokens"],
] as const;

function listedSizes(entry: unknown): ServerSizes {
  return {
    contextWindow: firstSize(entry, windowKeys) ?? routedWindow(entry),
    maxOutputTokens: firstSize(entry, outputKeys),
  };
}

/** A router lists a model once, with the windows of all who serve it: the smallest holds wherever a request lands. */
function routedWindow(entry: unknown): number | undefined {
  const served = member(entry, "providers");
  if (!Array.isArray(served)) return undefined;
  const windows = served.flatMap((each) => size(member(each, "context_length")) ?? []);
  return windows.length === 0 ? undefined : Math.min(...windows);
}

function firstSize(entry: unknown, keys: readonly (readonly string[])[]): number | undefined {
  return keys.map((path) => size(member(entry, ...path))).find((found) => found !== undefined);
}

/** Anthropic's address is given without the version. */
export function modelsUrl({ api, baseUrl }: ProviderConfig): string {
  return api === "anthropic-messages" ? `${baseUrl}/v1/models` : `${baseUrl}/models`;
}

/** Where a server's own dialect is spoken, beside the OpenAI-compatible one under `/v1`. */
function serverRoot({ baseUrl }: ProviderConfig): string {
  return baseUrl.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, "");
}

/** What the model runs with that is in memory; nothing for one that is not. */
export async function loadedWindow(question: ServerQuestion, modelId: string): Promise<number | undefined> {
  const models = member(await ask(question, `${serverRoot(question.provider)}/api/ps`), "models");
  if (!Array.isArray(models)) return undefined;
  const names: readonly unknown[] = [modelId, `${modelId}:latest`];
  const entry = models.find(
    (model) => names.includes(member(model, "name")) || names.includes(member(model, "model")),
  );
  return size(member(entry, "context_length"));
}

/** What the model will run with as far as it is configured, else what it was made for; Ollama may use less. */
async function shownWindow(question: ServerQuestion, modelId: string): Promise<number | undefined> {
  const shown = await ask(question, `${serverRoot(question.provider)}/api/show`, { model: modelId });
  return configuredWindow(shown) ?? trainedWindow(shown);
}

/** `num_ctx` of the Modelfile, in a list of parameters as text. */
function configuredWindow(shown: unknown): number | undefined {
  const parameters = member(shown, "parameters");
  const match = typeof parameters === "string" ? /^num_ctx\s+(\d+)/m.exec(parameters) : null;
  return size(Number(match?.[1]));
}

/** What the model was made for, under a key like `qwen3.context_length`. */
function trainedWindow(shown: unknown): number | undefined {
  const info = member(shown, "model_info");
  if (typeof info !== "object" || info === null) return undefined;
  return size(Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1]);
}

/** A question to a provider's server about its models. */
export interface ServerQuestion {
  /** Whose server is asked. */
  provider: ProviderConfig;
  /** Absent where there is none. */
  apiKey?: string | undefined;
  /** Ends the question; no answer then. */
  signal: AbortSignal;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/**
 * What the server says to it, as JSON; undefined for no answer, a refusal, or something else than JSON. With a body it is
 * sent by POST.
 */
async function ask(
  { provider, apiKey, signal, fetch = globalThis.fetch }: ServerQuestion,
  url: string,
  body?: unknown,
): Promise<unknown> {
  const own = { ...provider.headers, ...keyHeaders(provider, apiKey) };
  const headers = body === undefined ? own : { "content-type": "application/json", ...own };
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    // A redirection could carry the key to somebody else.
    const response = await fetch(url, { ...post, headers, signal, redirect: "error" });
    if (response.ok) return JSON.parse(await boundedText(response));
    await response.body?.cancel();
    return undefined;
  } catch {
    // Who does not answer in time, or not in JSON, tells nothing: that is an answer here.
    return undefined;
  }
}

function keyHeaders({ api }: ProviderConfig, apiKey: string | undefined): Record<string, string> {
  if (api === "anthropic-messages")
    return { "anthropic-version": "2023-06-01", ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) };
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

/** A number of tokens that can be one. */
function size(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** True where something answers, whatever it says. */
export async function isAnswered(
  url: string,
  { fetch, signal }: { fetch: typeof globalThis.fetch; signal: AbortSignal },
): Promise<boolean> {
  try {
    const response = await fetch(url, { signal, redirect: "manual" });
    await response.body?.cancel();
    return true;
  } catch {
    // Refused, unknown or too slow: nobody is there who could be asked for an answer.
    return false;
  }
}

/** Lists of models have a megabyte or two. */
const MAX_BYTES = 16 * 1024 * 1024;

/** @throws where there is more than a server's answer can be: it may have no end, and arrives faster than a timeout. */
async function boundedText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new RangeError("The answer is larger than 16 MB.");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** A member of a value from outside; undefined where there is none. */
function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  );
}
