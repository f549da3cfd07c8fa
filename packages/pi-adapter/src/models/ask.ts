import type { AskOptions, ModelContext } from "@bonsai-agent/extension";
import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type StreamEvent,
  type ThinkingLevel,
  type ToolDeclaration,
  thinkingLevels,
} from "@bonsai-agent/models";
import type { AssistantMessageEventStream } from "./assistant-stream.ts";
import { registryInUse } from "./model-desk.ts";
import { bonsaiModel, type GivenModel } from "./pi-model.ts";
import { piStream } from "./to-pi-events.ts";
import { currentSystemPrompt, currentTools, type TranscriptMessage, withoutSystem } from "./transcript.ts";

/** A request as pi's functions take it. */
export interface PiContext {
  systemPrompt?: string;
  messages: readonly TranscriptMessage[];
  tools?: readonly ToolDeclaration[];
}

/** The options of pi's that mean something here; others are for its own transports. */
export interface PiAskOptions {
  apiKey?: string;
  headers?: Readonly<Record<string, string | null>>;
  /** Tokens. */
  maxTokens?: number;
  signal?: AbortSignal;
  reasoning?: string;
  sessionId?: string;
}

/** The prompt and the tools may stand in the context or in a leading system message. */
export function bonsaiContext(context: PiContext): ModelContext & { messages: readonly Message[] } {
  const systemPrompt = context.systemPrompt ?? currentSystemPrompt(context.messages);
  const tools = context.tools ?? currentTools(context.messages);
  return {
    messages: withoutSystem(context.messages) as Message[],
    ...(systemPrompt === "" ? {} : { systemPrompt }),
    ...(tools.length === 0 ? {} : { tools: tools.map(declaration) }),
  };
}

export function bonsaiOptions({ maxTokens, signal, reasoning }: PiAskOptions = {}): AskOptions {
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(signal === undefined ? {} : { signal }),
    ...(reasoning === undefined ? {} : { reasoning: levelOf(reasoning) }),
  };
}

/** pi's `stream` and `streamSimple` of `pi-ai`. */
export function stream(
  model: GivenModel,
  context: PiContext,
  options: PiAskOptions = {},
): AssistantMessageEventStream {
  return piStream(answer(bonsaiModel(model), context, options));
}

/** pi's `complete` and `completeSimple` of `pi-ai`: a failed request is an answer with `stopReason` "error". */
export async function complete(
  model: GivenModel,
  context: PiContext,
  options: PiAskOptions = {},
): Promise<AssistantMessage> {
  return (await finalEvent(answer(bonsaiModel(model), context, options))).message;
}

/** Through the host, unless the extension brings a key that the host does not have. */
async function* answer(
  model: CatalogueModel,
  context: PiContext,
  options: PiAskOptions,
): AsyncIterable<StreamEvent> {
  const registry = registryInUse();
  if (registry !== undefined && (await isHostsKey(model, options.apiKey))) {
    yield* registry.stream(model, bonsaiContext(context), bonsaiOptions(options));
  } else {
    yield* answerWithKey(model, context, options);
  }
}

/** True where the host can be asked as well: the extension brings no key, or the one that the host has. */
export async function isHostsKey(model: CatalogueModel, apiKey: string | undefined): Promise<boolean> {
  if (apiKey === undefined) return true;
  const auth = await registryInUse()?.getApiKeyAndHeaders(model);
  return auth?.ok === true && auth.apiKey === apiKey;
}

/** One request with the extension's own key. */
export function answerWithKey(
  model: CatalogueModel,
  context: PiContext,
  { apiKey, headers, sessionId, ...options }: PiAskOptions,
): AsyncIterable<StreamEvent> {
  const { messages, systemPrompt = "", tools = [] } = bonsaiContext(context);
  const { maxTokens, signal, reasoning } = bonsaiOptions(options);
  return clientWith(apiKey).stream({
    model: { ...model, headers: { ...model.headers, ...withoutNulls(headers) } },
    purpose: "extension",
    messages,
    systemPrompt,
    tools,
    maxOutputTokens: maxTokens,
    thinking: reasoning,
    signal,
    cacheKey: sessionId,
  });
}

/** A client with this key, else with those of the environment. */
export function clientWith(apiKey: string | undefined): ModelClient {
  const ofEnv = (name: string | undefined) => (name === undefined ? undefined : process.env[name]);
  return new ModelClient({ keys: { key: ({ apiKeyEnv }) => apiKey ?? ofEnv(apiKeyEnv) } });
}

function declaration({ name, description, parameters }: ToolDeclaration): ToolDeclaration {
  return { name, description, parameters };
}

function levelOf(level: string): ThinkingLevel {
  return thinkingLevels.find((known) => known === level) ?? "xhigh";
}

function withoutNulls(headers: PiAskOptions["headers"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((pair): pair is [string, string] => !!pair[1]));
}
