import type { AssistantMessage, Model } from "@bonsai-agent/messages";
import { z } from "zod";

/** The protocols of providers. `scripted` plays a scenario file. `extension` is a provider given to `ModelClient.serve`. */
export type ProviderApi =
  | "anthropic-messages"
  | "openai-responses"
  | "openai-chat"
  | "scripted"
  | "extension";

/** How much a model may think before it answers. Models that cannot think ignore it. */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** Levels in ascending order. */
export const thinkingLevels: readonly ThinkingLevel[] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** A provider of models: its address, protocol and key. */
export interface ProviderConfig {
  /** The name before the slash in `provider/id`. */
  provider: string;
  api: ProviderApi;
  /** Without a trailing slash. For `scripted`, the path of the scenario file. */
  baseUrl: string;
  /** The variable with the key. Absent if no key is needed. */
  apiKeyEnv?: string | undefined;
  /** Demands the key even for a server on this machine. Default false. */
  needsKey?: boolean | undefined;
  /** The shown name of a login that replaces the key. The provider needs a key or the login then. */
  login?: string | undefined;
  /** Sends the key as `Authorization: Bearer` too. Default false. */
  authHeader?: boolean | undefined;
  /** A missing setting other than the key, in one sentence with the remedy. The provider is not used then. */
  missing?: string | undefined;
  /** True if an extension makes its clients. Bonsai does not ask its server for models then. Default false. */
  hasOwnClient?: boolean | undefined;
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Differences of its server. */
  compat?: ModelCompat | undefined;
}

/** A model with its sizes, prices and provider. */
export interface CatalogueModel extends Model, ProviderConfig {
  /** Shown to the user. */
  name: string;
  /** The accepted content of user messages. */
  input: readonly ("text" | "image")[];
  /** True if the model can think before it answers. */
  reasoning: boolean;
  /** The catalogue's window, if the server reported a smaller one. */
  declaredWindow?: number | undefined;
}

/** Words for efforts in ascending order. With `default`, the model decides. */
export const effortWords = ["none", "minimal", "low", "medium", "default", "high", "xhigh", "max"] as const;

export type Effort = (typeof effortWords)[number];

/** Ways of thinking by protocol. */
export const thinkingStyles = {
  "anthropic-messages": ["budget", "adaptive", "none"],
  "openai-chat": ["reasoning_effort", "reasoning", "switch", "none"],
} as const;

/** The user's settings for a server. Default of each: the known dialect of the server. */
export const compatSchema = z.strictObject({
  /**
   * The way to ask for thinking. Anthropic Messages: `budget` (a number of tokens), `adaptive` (an effort). Chat
   * Completions: the field `reasoning_effort`, the field `reasoning` (`{effort}`), `switch` (`thinking: {type}`).
   */
  thinking: z.enum([...thinkingStyles["anthropic-messages"], ...thinkingStyles["openai-chat"]]).optional(),
  /** The efforts of the model. With `none`, thinking can be switched off. Default: low, medium, high. */
  efforts: z.array(z.enum(effortWords)).min(1).readonly().optional(),
  /** Chat Completions: the field for earlier thinking. */
  thinkingBack: z.enum(["reasoning_content", "reasoning_details", "none"]).optional(),
  /** Chat Completions: the field of the output cap. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  /** Chat Completions: sends `stream_options`. Many servers send no usage without it. */
  streamOptions: z.boolean().optional(),
  /** Chat Completions: accepts a user message directly after tool results. Mistral's models and servers refuse it. */
  userAfterResults: z.boolean().optional(),
  /**
   * Anthropic Messages and Responses: the server compacts on its side. Default: only the vendors' own servers do, for the
   * models that are known to.
   */
  providerCompaction: z.boolean().optional(),
});

export type ModelCompat = z.infer<typeof compatSchema>;

/** A model's name in settings, flags and messages: `provider/id`. */
export function referenceOf({ provider, id }: Pick<CatalogueModel, "provider" | "id">): string {
  return `${provider}/${id}`;
}

/** Longer answers are rare, and some providers reserve the requested tokens. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/** The default output cap in tokens, if the window has room for it. */
export function usualOutputCap({ maxOutputTokens }: Pick<CatalogueModel, "maxOutputTokens">): number {
  return Math.min(DEFAULT_OUTPUT_TOKENS, maxOutputTokens || Number.POSITIVE_INFINITY);
}

/** True if the user's settings ask for thinking. */
export function canThink(compat: ModelCompat | undefined): boolean {
  return compat?.thinking !== undefined && compat.thinking !== "none";
}

/** True for an answer of this model: its signatures and thinking are valid for it. */
export function isOwnAnswer(
  message: AssistantMessage,
  { provider, id, api }: { provider: string; id: string; api: string },
): boolean {
  return message.provider === provider && message.model === id && message.api === api;
}

const ports = { ollama: 11434, lmstudio: 1234, llamacpp: 8080, vllm: 8000 } as const;

/** Servers on this machine at their usual ports, without keys. `OLLAMA_HOST` moves `ollama`. */
export function localProviders(env: Readonly<Record<string, string | undefined>>): ProviderConfig[] {
  return Object.entries(ports).map(([provider, port]) => ({
    provider,
    api: "openai-chat",
    baseUrl: provider === "ollama" ? ollamaUrl(env.OLLAMA_HOST) : `http://127.0.0.1:${port}/v1`,
  }));
}

/** `OLLAMA_HOST` is the address that Ollama listens on: `box`, `:11500`, `0.0.0.0:11434`, `https://box/ollama`. */
function ollamaUrl(host = ""): string {
  const usual = `http://127.0.0.1:${ports.ollama}/v1`;
  const text = host.trim();
  if (text === "") return usual;
  const hasScheme = /^https?:\/\//i.test(text);
  const url = URL.parse(hasScheme ? text : `http://${text.replace(/^:/, "127.0.0.1:")}`);
  if (url === null) return usual;
  if (!hasScheme && !/:\d+(\/|$)/.test(text)) url.port = String(ports.ollama);
  // "Everywhere" is no address to send to.
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  return `${url.href.replace(/(?<!\/)\/+$/, "")}/v1`;
}

/** True for a server on this machine. */
export function isLoopback({ baseUrl }: Pick<ProviderConfig, "baseUrl">): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\./.test(host);
}

/** True for an address at a host or one of its subdomains. */
export function isAtHost(baseUrl: string, host: string): boolean {
  return `.${URL.parse(baseUrl)?.hostname ?? ""}`.endsWith(`.${host}`);
}

/** A printable address: without user, password and query, which may be secret. */
export function shownAddress(url: string, base?: string): string {
  const parsed = URL.parse(url, base);
  return parsed === null ? "an invalid address" : `${parsed.origin}${parsed.pathname}`.replace(/\/$/, "");
}

/** Detects an Ollama by its name or its port. */
export function isOllama({ provider, api, baseUrl }: ProviderConfig): boolean {
  return api === "openai-chat" && (provider === "ollama" || URL.parse(baseUrl)?.port === "11434");
}

/** The place of a key. `login`: a login whose provider is known; `models`: a `models.json` in pi's format. */
export type KeyOrigin = "lent" | "environment" | "file" | "login" | "models";

/** True if the provider has a key or needs none, and lacks nothing else. @throws what the key source throws */
export function isReachable(
  provider: ProviderConfig,
  keys: { key(provider: ProviderConfig): string | undefined } | undefined,
): boolean {
  if (provider.missing !== undefined) return false;
  if (provider.apiKeyEnv === undefined && provider.login === undefined) return true;
  if (keys?.key(provider) !== undefined) return true;
  return isLoopback(provider) && provider.needsKey !== true;
}

/** The fields with a value. */
export function definedFields<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}
