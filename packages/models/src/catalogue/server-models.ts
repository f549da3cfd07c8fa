import { type CatalogueModel, isLoopback, type ProviderConfig } from "../model.ts";

type ServerSizes = Pick<CatalogueModel, "contextWindow" | "maxOutputTokens">;

type ServerModel = ServerSizes & { id: string };

/** Long enough for a distant server or a busy machine, short enough for a waiting user. */
const TIMEOUT_MS = 1_500;

export function serverTimeout(): AbortSignal {
  return AbortSignal.timeout(TIMEOUT_MS);
}

/** The models of `GET {baseUrl}/models`; undefined without an answer. */
export async function serverModels(query: ServerQuery): Promise<ServerModel[] | undefined> {
  const list = await ask(query, modelsUrl(query.provider));
  const entries = Array.isArray(list) ? list : (member(list, "data") ?? member(list, "models"));
  if (!Array.isArray(entries)) return undefined;
  return entries.flatMap((entry) => {
    const id = member(entry, "id") ?? member(entry, "name");
    return typeof id === "string" && !notForTalk.test(id) ? [{ id, ...listedSizes(entry) }] : [];
  });
}

/** Kinds of listed models that cannot hold a conversation. */
const notForTalk = /embed|rerank|whisper|\btts\b|moderation/i;

/** The sizes of a model at its server. llama.cpp, LM Studio and Ollama may run a model with a far smaller window. */
export async function serverSizes(query: ServerQuery, modelId: string): Promise<ServerSizes> {
  const [listed, running] = await Promise.all([listedModel(query, modelId), runningWindow(query, modelId)]);
  return { ...listed, ...(running !== undefined && { contextWindow: running }) };
}

/** True for a server on this machine or without a key: a server of the user's own. */
export function isOwnServer(provider: ProviderConfig): boolean {
  return isLoopback(provider) || (provider.apiKeyEnv === undefined && provider.login === undefined);
}

async function listedModel(query: ServerQuery, modelId: string): Promise<ServerSizes> {
  if (query.provider.api === "anthropic-messages")
    return listedSizes(await ask(query, `${modelsUrl(query.provider)}/${encodeURIComponent(modelId)}`));
  const models = await serverModels(query);
  const { contextWindow, maxOutputTokens } = models?.find(({ id }) => id === modelId) ?? {};
  return { contextWindow, maxOutputTokens };
}

/** The window that a server of the user's own runs a model with; undefined if it does not report one. */
export async function runningWindow(query: ServerQuery, modelId: string): Promise<number | undefined> {
  if (!isOwnServer(query.provider)) return undefined;
  const root = serverRoot(query.provider);
  const [props, studio, loaded, shown] = await Promise.all([
    // Without `autoload`, a router would load the model.
    ask(query, `${root}/props?model=${encodeURIComponent(modelId)}&autoload=false`),
    ask(query, `${root}/api/v0/models/${modelId.split("/").map(encodeURIComponent).join("/")}`),
    loadedWindow(query, modelId),
    shownWindow(query, modelId),
  ]);
  return (
    size(member(props, "default_generation_settings", "n_ctx")) ??
    size(member(studio, "loaded_context_length")) ??
    size(member(studio, "max_context_length")) ??
    loaded ??
    shown
  );
}

const windowKeys =
  "context_length max_model_len context_window max_context_length max_input_tokens inputTokenLimit " +
  "top_provider.context_length metadata.context_length limits.max_input_tokens meta.n_ctx meta.n_ctx_train";
const outputKeys =
  "top_provider.max_completion_tokens max_completion_tokens max_output_tokens metadata.max_tokens " +
  "limits.max_output_tokens max_tokens";

function listedSizes(entry: unknown): ServerSizes {
  return {
    contextWindow: firstSize(entry, windowKeys) ?? routedWindow(entry),
    maxOutputTokens: firstSize(entry, outputKeys),
  };
}

/** A router lists the windows of all providers of a model. The smallest fits them all. */
function routedWindow(entry: unknown): number | undefined {
  const served = member(entry, "providers");
  if (!Array.isArray(served)) return undefined;
  const windows = served.flatMap((each) => size(member(each, "context_length")) ?? []);
  return windows.length === 0 ? undefined : Math.min(...windows);
}

/** The first size at one of the paths. */
function firstSize(entry: unknown, paths: string): number | undefined {
  const found = paths.split(" ").map((path) => size(member(entry, ...path.split("."))));
  return found.find((each) => each !== undefined);
}

/** Anthropic's base URL has no version. */
export function modelsUrl({ api, baseUrl }: ProviderConfig): string {
  return api === "anthropic-messages" ? `${baseUrl}/v1/models` : `${baseUrl}/models`;
}

/** The root of a server's own API, beside the OpenAI-compatible one under `/v1`. */
function serverRoot({ baseUrl }: ProviderConfig): string {
  return baseUrl.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, "");
}

/** The window of a model in an Ollama's memory. */
export async function loadedWindow(query: ServerQuery, modelId: string): Promise<number | undefined> {
  const models = member(await ask(query, `${serverRoot(query.provider)}/api/ps`), "models");
  if (!Array.isArray(models)) return undefined;
  const names: readonly unknown[] = [modelId, `${modelId}:latest`];
  const entry = models.find(
    (model) => names.includes(member(model, "name")) || names.includes(member(model, "model")),
  );
  return size(member(entry, "context_length"));
}

/**
 * The configured window of an Ollama's model (`num_ctx` of the Modelfile), else the trained one (a key such as
 * `qwen3.context_length`). Ollama may use less.
 */
async function shownWindow(query: ServerQuery, modelId: string): Promise<number | undefined> {
  const shown = await ask(query, `${serverRoot(query.provider)}/api/show`, { model: modelId });
  const configured = /^num_ctx\s+(\d+)/m.exec(String(member(shown, "parameters")))?.[1];
  const trained = Object.entries(member(shown, "model_info") ?? {}).find(([key]) =>
    key.endsWith(".context_length"),
  );
  return size(Number(configured)) ?? size(trained?.[1]);
}

interface ServerQuery {
  provider: ProviderConfig;
  apiKey?: string | undefined;
  signal: AbortSignal;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** Returns the JSON of the answer; undefined without one. Sends a body by POST. */
async function ask(
  { provider, apiKey, signal, fetch = globalThis.fetch }: ServerQuery,
  url: string,
  body?: unknown,
): Promise<unknown> {
  const headers = {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...provider.headers,
    ...keyHeaders(provider, apiKey),
  };
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    // A redirection could send the key to another server.
    const response = await fetch(url, { ...post, headers, signal, redirect: "error" });
    if (response.ok) return JSON.parse(await boundedText(response));
    await response.body?.cancel();
  } catch {
    // A server without an answer has no sizes.
  }
  return undefined;
}

function keyHeaders({ api }: ProviderConfig, apiKey: string | undefined): Record<string, string> {
  if (api === "anthropic-messages")
    return { "anthropic-version": "2023-06-01", ...(apiKey !== undefined && { "x-api-key": apiKey }) };
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

function size(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Lists of models have a megabyte or two. */
const MAX_BYTES = 16 * 1024 * 1024;

/** @throws RangeError for an answer without an end */
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

function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  );
}
