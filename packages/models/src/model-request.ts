import type { Message, Usage } from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "./catalogue-model.ts";
import type { ModelNotice } from "./notice.ts";

/** A tool as the model sees it. */
export interface ToolDeclaration {
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters: Readonly<Record<string, unknown>>;
}

/**
 * What a request is for: a turn of the conversation, a summary, a title, or what an extension asks by itself. Goes to
 * logs and scenario files only.
 */
export type RequestPurpose = "turn" | "summary" | "title" | "extension";

/** One request to a model. */
export interface ModelRequest {
  model: CatalogueModel;
  purpose: RequestPurpose;
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
  /** The context as `project` made it, oldest first. */
  messages: readonly Message[];
  /**
   * The caller's count of the whole context in tokens, asked after a refusal that gives no reason: near the window it is
   * taken for an overflow. Default: the client's estimate of the request.
   */
  contextTokens?: (() => number) | undefined;
  /**
   * When the context was last edited, in milliseconds since the epoch: signed thinking of older answers is bound to
   * what is no more and is left out. Default: never; compactions are seen by themselves.
   */
  prefixChangedAtMs?: number | undefined;
  /** Cap of the answer in tokens, thinking included. Default: the model's, at most 32,000, and what the window leaves. */
  maxOutputTokens?: number | undefined;
  /** Default "off". */
  thinking?: ThinkingLevel | undefined;
  /** The same for all requests of one session: lets the provider find its cached prefix. */
  cacheKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Sees the request as it will go over the wire, and may change it. */
  onPayload?: ((payload: unknown) => unknown | Promise<unknown>) | undefined;
  /** Told when the provider's answer begins. */
  onResponse?: ((response: ProviderResponse) => void | Promise<void>) | undefined;
  /**
   * Told what an attempt used that is void, because another one follows it: nothing else counts it. The usage of the
   * stream's last message is that of the last attempt alone, and tells the size of the context.
   */
  onVoidedUsage?: ((usage: Usage) => void) | undefined;
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

export interface ProviderResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}
