import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { ProviderApi, StreamEvent, ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";

/** A model of a provider that an extension adds. */
export interface ProviderModelOptions {
  id: string;
  name?: string | undefined;
  reasoning?: boolean | undefined;
  /** Default text. */
  input?: readonly ("text" | "image")[] | undefined;
  /** US dollars per million tokens. */
  cost?:
    | { input: number; output: number; cacheRead?: number | undefined; cacheWrite?: number | undefined }
    | undefined;
  /** Tokens. */
  contextWindow?: number | undefined;
  /** Tokens of the longest answer. */
  maxTokens?: number | undefined;
  /** Default: the provider's. */
  api?: ProviderApi | string | undefined;
  baseUrl?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
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
  /** Aborted when nobody waits for the answer any longer. */
  signal: AbortSignal;
}

export interface ProviderOptions {
  name?: string | undefined;
  /** Needed where models are given, unless `stream` is. */
  baseUrl?: string | undefined;
  /** The key itself, or `$NAME` of a variable of the environment. */
  apiKey?: string | undefined;
  /**
   * `anthropic-messages`, `openai-responses` or `openai-chat` (also as `openai-completions`). Default: what the provider
   * has, and `openai-chat` for a new one; of no account beside `stream`.
   */
  api?: ProviderApi | string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Takes the place of the provider's known models; without it, those stay. */
  models?: readonly ProviderModelOptions[] | undefined;
  /**
   * Answers requests in the place of a protocol: events of the stream, whose `done` or `error` has the whole answer, or
   * that alone. A throw is a failed request; one that looks like a provider's error is read like one. Nothing for five
   * minutes is taken for the end of the connection. What it is given is frozen.
   */
  stream?(request: ProviderStreamRequest): AsyncIterable<StreamEvent> | Promise<AssistantMessage>;
}
