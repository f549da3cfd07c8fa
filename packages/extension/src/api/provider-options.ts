import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { ProviderApi, StreamEvent, ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";

/** A model of a provider that an extension adds. */
export interface ProviderModelOptions {
  id: string;
  name?: string;
  reasoning?: boolean;
  /** Default text. */
  input?: readonly ("text" | "image")[];
  /** US dollars per million tokens. */
  cost?: { input: number; output: number; cacheRead?: number; cacheWrite?: number };
  /** Tokens. */
  contextWindow?: number;
  /** Tokens of the longest answer. */
  maxTokens?: number;
  /** Default: the provider's. */
  api?: ProviderApi | string;
  baseUrl?: string;
  headers?: Readonly<Record<string, string>>;
}

/** What a provider of one's own is asked. */
export interface ProviderStreamRequest {
  model: { provider: string; id: string };
  systemPrompt: string;
  messages: readonly Message[];
  tools: readonly ToolDeclaration[];
  /** Tokens. */
  maxOutputTokens?: number;
  /** How much the model may think before it answers. */
  thinking?: ThinkingLevel;
  /** The provider's key, where there is one. */
  apiKey?: string;
  signal: AbortSignal;
}

export interface ProviderOptions {
  name?: string;
  /** Needed where models are given, unless `stream` is. */
  baseUrl?: string;
  /** The key itself, or `$NAME` of a variable of the environment. */
  apiKey?: string;
  /**
   * `anthropic-messages`, `openai-responses` or `openai-chat` (also as `openai-completions`). Default: what the provider
   * has, and `openai-chat` for a new one; of no account beside `stream`.
   */
  api?: ProviderApi | string;
  headers?: Readonly<Record<string, string>>;
  /** Takes the place of the provider's known models; without it, those stay. */
  models?: readonly ProviderModelOptions[];
  /**
   * Answers requests in the place of a protocol: events of the stream, whose `done` or `error` has the whole answer, or
   * that alone. A throw is a failed request; one that looks like a provider's error is read like one. Nothing for five
   * minutes is taken for the end of the connection. What it is given is frozen.
   */
  stream?(request: ProviderStreamRequest): AsyncIterable<StreamEvent> | Promise<AssistantMessage>;
}
