import type { AssistantMessage, Model } from "@bonsai-agent/messages";

/**
 * The wire protocols that Bonsai speaks. `scripted` plays a scenario file; `extension` is none: who answers is given to
 * `ModelClient.serve`.
 */
export type ProviderApi =
  | "anthropic-messages"
  | "openai-responses"
  | "openai-chat"
  | "scripted"
  | "extension";

/** How much a model may think before it answers; models that cannot think ignore it. */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** Levels from the least to the most. */
export const thinkingLevels: readonly ThinkingLevel[] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** Who serves models: where, in which protocol, and which variable of the environment holds the key. */
export interface ProviderConfig {
  /** The name before the slash in `provider/id`. */
  provider: string;
  /** The protocol that its server speaks. */
  api: ProviderApi;
  /** Without a trailing slash; for `scripted` the path of the scenario file. */
  baseUrl: string;
  /** Absent where no key is needed. */
  apiKeyEnv?: string | undefined;
  /** True: `apiKeyEnv` is needed also where the server is on this machine. Default false: such servers mostly want none. */
  needsKey?: boolean | undefined;
  /** The name of a login that stands in for a key, for people. A provider that has one needs a key or the login. */
  login?: string | undefined;
  /** True: the key is sent as `Authorization: Bearer` too, whatever the protocol sends it as. Default false. */
  authHeader?: boolean | undefined;
  /**
   * What its requests lack besides a key, in one sentence with the remedy: then they are not made, and its models are
   * not offered.
   */
  missing?: string | undefined;
  /** True: its clients are made elsewhere, and its server is not asked what it serves. Default false. */
  hasOwnClient?: boolean | undefined;
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Where its server differs. */
  compat?: ModelCompat | undefined;
}

/** A model that can be asked: its sizes and prices, and how to reach it. */
export interface CatalogueModel extends Model, ProviderConfig {
  /** For people. */
  name: string;
  /** What a user message may hold. */
  input: readonly ("text" | "image")[];
  /** True when the model can think before it answers. */
  reasoning: boolean;
  /** The window before its server named a smaller one; absent where it named none. */
  declaredWindow?: number | undefined;
}

/** Words for how much a model shall think, from the least to the most; `default` is "think, as you see fit". */
export const effortWords = ["none", "minimal", "low", "medium", "default", "high", "xhigh", "max"] as const;

export type Effort = (typeof effortWords)[number];

/** How a model can be told to think: in Anthropic Messages, in Chat Completions, and in either not at all. */
export const thinkingStyles = {
  "anthropic-messages": ["budget", "adaptive", "none"],
  "openai-chat": ["reasoning_effort", "reasoning", "switch", "none"],
} as const;

/** Where a server differs from what is known of it, or from what is taken for granted. Default of each: what is known. */
export interface ModelCompat {
  /**
   * How the model is asked to think. Anthropic Messages: `budget` (a number of tokens), `adaptive` (an effort). Chat
   * Completions: the field `reasoning_effort`, the field `reasoning` (`{effort}`), `switch` (`thinking: {type}`).
   */
  thinking?: (typeof thinkingStyles)[keyof typeof thinkingStyles][number] | undefined;
  /** The efforts that the model knows; with `none` its thinking can be switched off. Default: low, medium, high. */
  efforts?: readonly Effort[] | undefined;
  /** Chat Completions: the field in which what the model thought goes back with its message. */
  thinkingBack?: "reasoning_content" | "reasoning_details" | "none" | undefined;
  /** Chat Completions: the name of the cap of the answer. */
  maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  /** Chat Completions: whether `stream_options` is taken; without it many servers tell no usage. */
  streamOptions?: boolean | undefined;
}

/** A model's name in settings, flags and messages: `provider/id`. */
export function referenceOf({ provider, id }: Pick<CatalogueModel, "provider" | "id">): string {
  return `${provider}/${id}`;
}

/** More is hardly ever said at once, and some providers reserve what is asked for. Tokens. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/** The cap of an answer where nobody wants another one and the window has room for it. Tokens. */
export function usualOutputCap({ maxOutputTokens }: Pick<CatalogueModel, "maxOutputTokens">): number {
  return Math.min(DEFAULT_OUTPUT_TOKENS, maxOutputTokens || Number.POSITIVE_INFINITY);
}

/** True where the user set how the model is asked to think: then it can. */
export function canThink(compat: ModelCompat | undefined): boolean {
  return compat?.thinking !== undefined && compat.thinking !== "none";
}

/** True for an answer of this model itself: what it signed, and what it thought, means something to it. */
export function isOwnAnswer(
  message: AssistantMessage,
  { provider, id, api }: { provider: string; id: string; api: string },
): boolean {
  return message.provider === provider && message.model === id && message.api === api;
}

const ports = { ollama: 11434, lmstudio: 1234, llamacpp: 8080, vllm: 8000 } as const;

/** Servers on this machine at their usual ports; none wants a key. `OLLAMA_HOST` moves `ollama`. */
export function localProviders(env: Readonly<Record<string, string | undefined>>): ProviderConfig[] {
  return Object.entries(ports).map(([provider, port]) => ({
    provider,
    api: "openai-chat",
    baseUrl: provider === "ollama" ? ollamaUrl(env.OLLAMA_HOST) : `http://127.0.0.1:${port}/v1`,
  }));
}

/** The variable holds what Ollama listens on: `box`, `:11500`, `0.0.0.0:11434`, `https://box/ollama`. */
function ollamaUrl(host = ""): string {
  const usual = `http://127.0.0.1:${ports.ollama}/v1`;
  const text = host.trim();
  if (text === "") return usual;
  const hasScheme = /^https?:\/\//i.test(text);
  const url = URL.parse(hasScheme ? text : `http://${text.replace(/^:/, "127.0.0.1:")}`);
  if (url === null) return usual;
  if (!hasScheme && !/:\d+(\/|$)/.test(text)) url.port = String(ports.ollama);
  // To listen everywhere is no address to ask.
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  return `${url.href.replace(/(?<!\/)\/+$/, "")}/v1`;
}

/** True for a server on this machine. */
export function isLoopback({ baseUrl }: Pick<ProviderConfig, "baseUrl">): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\./.test(host);
}

/** A printable address: without user, password and query, which may be secret. */
export function shownAddress(url: string, base?: string): string {
  const parsed = URL.parse(url, base);
  return parsed === null ? "an invalid address" : `${parsed.origin}${parsed.pathname}`.replace(/\/$/, "");
}

/** True for an Ollama: by its name, or the port that nobody else uses. */
export function isOllama({ provider, api, baseUrl }: ProviderConfig): boolean {
  return api === "openai-chat" && (provider === "ollama" || URL.parse(baseUrl)?.port === "11434");
}
