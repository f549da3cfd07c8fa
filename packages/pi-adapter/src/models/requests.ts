import { AsyncLocalStorage } from "node:async_hooks";
import type { ConfirmPath } from "@bonsai-agent/agent";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type {
  AdaptedExtension,
  AskOptions,
  ExtensionHost,
  ModelContext,
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
  const tools = context.tools ?? currentTools(context.messages);
  return {
    messages: withoutSystem(context.messages) as Message[],
    ...(systemPrompt === "" ? {} : { systemPrompt }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })) }),
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

/** Uses the host's client, unless the extension gives another key. */
async function* answer(
  model: CatalogueModel,
  context: PiContext,
  options: PiAskOptions,
): AsyncIterable<StreamEvent> {
  const registry = contextInUse()?.modelRegistry;
  if (registry !== undefined && (await isHostsKey(model, options.apiKey))) {
    yield* registry.stream(model, bonsaiContext(context), bonsaiOptions(options));
  } else {
    yield* answerWithKey(model, context, options);
  }
}

/** True without a key, or with the host's own key. */
async function isHostsKey(model: CatalogueModel, apiKey: string | undefined): Promise<boolean> {
  if (apiKey === undefined) return true;
  const auth = await contextInUse()?.modelRegistry?.getApiKeyAndHeaders(model);
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
  const keys = {
    key: ({ apiKeyEnv = "" }: { apiKeyEnv?: string | undefined }) => apiKey ?? process.env[apiKeyEnv],
  };
  return new ModelClient({ keys }).stream({
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

/** pi has one more level, above Bonsai's highest. */
export function levelOf(level: string): ThinkingLevel {
  return thinkingLevels.find((known) => known === level) ?? "xhigh";
}

function withoutNulls(headers: PiAskOptions["headers"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((pair): pair is [string, string] => !!pair[1]));
}

/**
 * The context of the calling extension, for free functions such as `complete(model, …)` of `pi-ai`, which get none. Work outside
 * of any context uses the latest one.
 */
const given = new AsyncLocalStorage<InUse>();
let latest: InUse | undefined;

interface InUse {
  context: ExtensionContext;
  confirmPath: ConfirmPath;
  extension: AdaptedExtension | undefined;
}

/** Applies to the caller's work from here on. @param confirmPath default: refuses paths outside the project */
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

/** The program that runs the extension; undefined outside of any. */
export function hostInUse(): ExtensionHost | undefined {
  return inUse()?.extension?.host;
}

/** The modules that an extension can import from that program. */
export function modulesInUse(): VirtualModules | undefined {
  return inUse()?.extension?.modules;
}

/** Asks about paths outside the project; undefined outside of any context. */
export function confirmPathInUse(): ConfirmPath | undefined {
  return inUse()?.confirmPath;
}

function inUse(): InUse | undefined {
  return given.getStore() ?? latest;
}

/** The message with its text as a block, as pi's own messages have it. */
export function withBlocks<Any extends Message>(message: Any): Any {
  if (message.role !== "user" || typeof message.content !== "string") return message;
  return { ...message, content: [{ type: "text", text: message.content }] };
}

/** A message of a request in pi's shape. System messages contain the prompt and the tools. */
export interface TranscriptMessage {
  role: string;
  content?: unknown;
  [field: string]: unknown;
}

interface SystemParts extends TranscriptMessage {
  sections?: Record<string, string | null>;
  toolsAdded?: ToolDeclaration[];
  toolsRemoved?: { name: string }[];
}

/** One system message with the prompt and the tools; undefined without both. */
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

/** The prompt after all system messages. */
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

/** The tools after all additions and removals of system messages. */
export function currentTools(messages: readonly TranscriptMessage[]): ToolDeclaration[] {
  const tools = new Map<string, ToolDeclaration>();
  for (const { toolsAdded = [], toolsRemoved = [] } of systemMessages(messages)) {
    for (const { name } of toolsRemoved) tools.delete(name);
    for (const tool of toolsAdded) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

function withoutSystem(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
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
