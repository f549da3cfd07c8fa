import type { AskOptions, ModelContext } from "@bonsai-agent/extension/host";
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
import { inUse } from "../context-in-use.ts";
import { bonsaiModel, type GivenModel } from "./model.ts";
import { type AssistantMessageEventStream, piStream } from "./streams.ts";
import { currentSystemPrompt, currentTools, type TranscriptMessage, withoutSystem } from "./transcript.ts";

/** A request of pi's functions. */
export interface PiContext {
  systemPrompt?: string;
  messages: readonly TranscriptMessage[];
  tools?: readonly ToolDeclaration[];
}

/** pi's options, without those for its own transports. */
export interface PiAskOptions {
  apiKey?: string;
  headers?: Readonly<Record<string, string | null>>;
  /** Tokens. */
  maxTokens?: number;
  signal?: AbortSignal;
  reasoning?: string;
  sessionId?: string;
}

/** Reads the prompt and the tools from the context or from its system messages. */
export function bonsaiContext(context: PiContext): ModelContext & { messages: readonly Message[] } {
  const systemPrompt = context.systemPrompt ?? currentSystemPrompt(context.messages);
  const tools = (context.tools ?? currentTools(context.messages)).map(
    ({ name, description, parameters }) => ({ name, description, parameters }),
  );
  return {
    messages: withoutSystem(context.messages) as Message[],
    ...(systemPrompt === "" ? {} : { systemPrompt }),
    ...(tools.length === 0 ? {} : { tools }),
  };
}

export function bonsaiOptions({ maxTokens, signal, reasoning }: PiAskOptions = {}): AskOptions {
  return { maxTokens, signal, reasoning: reasoning === undefined ? undefined : levelOf(reasoning) };
}

/** pi has one more level, above Bonsai's highest. */
export function levelOf(level: string): ThinkingLevel {
  return thinkingLevels.find((known) => known === level) ?? "xhigh";
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

/** Uses the host's client, unless the extension gives another key. */
async function* answer(
  model: CatalogueModel,
  context: PiContext,
  options: PiAskOptions,
): AsyncIterable<StreamEvent> {
  const { apiKey } = options;
  const registry = inUse()?.context.modelRegistry;
  const auth = apiKey === undefined ? undefined : await registry?.getApiKeyAndHeaders(model);
  const isHostsKey = apiKey === undefined || (auth?.ok === true && auth.apiKey === apiKey);
  if (registry !== undefined && isHostsKey)
    yield* registry.stream(model, bonsaiContext(context), bonsaiOptions(options));
  else yield* answerWithKey(model, context, options);
}

/** One request with the extension's own key, else with that of the environment. */
export function answerWithKey(
  model: CatalogueModel,
  context: PiContext,
  { apiKey, headers = {}, sessionId, ...options }: PiAskOptions,
): AsyncIterable<StreamEvent> {
  const { messages, systemPrompt = "", tools = [] } = bonsaiContext(context);
  const { maxTokens, signal, reasoning } = bonsaiOptions(options);
  const key = ({ apiKeyEnv = "" }: { apiKeyEnv?: string | undefined }) => apiKey ?? process.env[apiKeyEnv];
  const given = Object.entries(headers).filter((pair): pair is [string, string] => !!pair[1]);
  return new ModelClient({ keys: { key } }).stream({
    model: { ...model, headers: { ...model.headers, ...Object.fromEntries(given) } },
    ...{ purpose: "extension", messages, systemPrompt, tools, signal },
    maxOutputTokens: maxTokens,
    thinking: reasoning,
    cacheKey: sessionId,
  });
}
