import { AsyncLocalStorage } from "node:async_hooks";
import type { ConfirmPath } from "@bonsai-agent/agent";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type {
  AdaptedExtension,
  AskOptions,
  ExtensionHost,
  ModelContext,
  ModelRegistry,
  VirtualModules,
} from "@bonsai-agent/extension/host";
import { type AssistantMessage, contentText, type Message } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type StreamEvent,
  type ThinkingLevel,
  type ToolDeclaration,
  thinkingLevels,
} from "@bonsai-agent/models";
import { bonsaiModel, type GivenModel } from "./model.ts";
import { type AssistantMessageEventStream, piStream } from "./streams.ts";

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
  return { maxTokens, signal, reasoning: reasoning === undefined ? undefined : levelOf(reasoning) };
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

/** pi has one level more, above the highest here. */
export function levelOf(level: string): ThinkingLevel {
  return thinkingLevels.find((known) => known === level) ?? "xhigh";
}

function withoutNulls(headers: PiAskOptions["headers"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((pair): pair is [string, string] => !!pair[1]));
}

/**
 * Owners of the context whose models free functions ask: `complete(model, …)` of `pi-ai` gets none. It is the one that
 * the work goes back to which calls them; for work that goes back to none, the one that was given last.
 */
const given = new AsyncLocalStorage<InUse>();
let latest: InUse | undefined;

interface InUse {
  context: ExtensionContext;
  confirmPath: ConfirmPath;
  extension: AdaptedExtension | undefined;
}

/** For all that the caller does from here on. @param confirmPath default: nobody can be asked about paths */
export function useContext(
  context: ExtensionContext,
  confirmPath: ConfirmPath = async () => undefined,
  extension?: AdaptedExtension,
): void {
  latest = { context, confirmPath, extension };
  given.enterWith(latest);
}

export function contextInUse(): ExtensionContext | undefined {
  return inUse()?.context;
}

/** The program that runs the extension; undefined where an extension works outside of any. */
export function hostInUse(): ExtensionHost | undefined {
  return inUse()?.extension?.host;
}

/** What an extension may import of that program. */
export function modulesInUse(): VirtualModules | undefined {
  return inUse()?.extension?.modules;
}

/** Asks about paths beyond the project where there is a context; undefined where an extension works outside of any. */
export function confirmPathInUse(): ConfirmPath | undefined {
  return inUse()?.confirmPath;
}

function inUse(): InUse | undefined {
  return given.getStore() ?? latest;
}

export function registryInUse(): ModelRegistry | undefined {
  return contextInUse()?.modelRegistry;
}

/** A user's text as the list of blocks that pi's own messages have. */
export function withBlocks<Any extends Message>(message: Any): Any {
  if (message.role !== "user" || typeof message.content !== "string") return message;
  return { ...message, content: [{ type: "text", text: message.content }] };
}

/** A message of a request in pi's shape, where the prompt and the tools stand in system messages. */
export interface TranscriptMessage {
  role: string;
  content?: unknown;
  [field: string]: unknown;
}

/** What a leading system message says, beside its text. */
interface SystemParts extends TranscriptMessage {
  sections?: Record<string, string | null>;
  toolsAdded?: ToolDeclaration[];
  toolsRemoved?: { name: string }[];
}

/** One leading system message with the prompt and the tools; none where there are neither. */
export function initialSystemMessage(
  systemPrompt: string | undefined,
  tools: readonly ToolDeclaration[] | undefined,
): TranscriptMessage | undefined {
  if (!systemPrompt && !tools?.length) return undefined;
  return {
    role: "system",
    content: systemPrompt ?? "",
    ...(tools?.length ? { toolsAdded: [...tools] } : {}),
    timestamp: Date.now(),
  };
}

/** The prompt after all system messages, oldest first. */
export function currentSystemPrompt(messages: readonly TranscriptMessage[]): string {
  const sections = new Map<string, string>();
  const texts: string[] = [];
  for (const message of systemMessages(messages)) {
    texts.push(contentText(message.content));
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      if (text === null) sections.delete(name);
      else sections.set(name, text);
    }
  }
  return [...texts, ...sections.values()].filter((text) => text !== "").join("\n\n");
}

/** The tools after all that system messages added and took away. */
export function currentTools(messages: readonly TranscriptMessage[]): ToolDeclaration[] {
  const tools = new Map<string, ToolDeclaration>();
  for (const { toolsAdded = [], toolsRemoved = [] } of systemMessages(messages)) {
    for (const { name } of toolsRemoved) tools.delete(name);
    for (const tool of toolsAdded) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** The conversation alone. */
export function withoutSystem(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  return messages.filter(({ role }) => role !== "system");
}

/** The same context with one system message, at its head. */
export function collapsed<Context extends { messages: readonly TranscriptMessage[] }>(
  context: Context,
): Context {
  const { messages } = context;
  const head = initialSystemMessage(currentSystemPrompt(messages), currentTools(messages));
  return { ...context, messages: [...(head === undefined ? [] : [head]), ...withoutSystem(messages)] };
}

function systemMessages(messages: readonly TranscriptMessage[]): SystemParts[] {
  return messages.filter(({ role }) => role === "system") as SystemParts[];
}
