import type { AssistantMessage, Message, ToolCall, Usage } from "@bonsai-agent/messages";
import type { ModelFailure } from "./failure.ts";
import type { CatalogueModel, ThinkingLevel } from "./model.ts";
import type { Repair } from "./repair/repair.ts";
import type { IgnoredUsage } from "./usage.ts";

/** A tool as the model sees it. */
export interface ToolDeclaration {
  /** Letters, digits, `_` and `-`; at most 64. */
  name: string;
  /** What it does, its limits, when to use it. */
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
  /** Who is asked. */
  model: CatalogueModel;
  /** What for. */
  purpose: RequestPurpose;
  /** May be empty. */
  systemPrompt: string;
  /** Those that the model is offered; the same order each time keeps the cached prefix. */
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
  /** Ends the request; its stream then ends with `error`, without a failure. */
  signal?: AbortSignal | undefined;
  /** Sees the request as it will go over the wire, and may change it. */
  onPayload?: ((payload: unknown) => unknown | Promise<unknown>) | undefined;
  /** Called when the provider's answer begins. */
  onResponse?: ((response: ProviderResponse) => void | Promise<void>) | undefined;
  /**
   * Called with what an attempt used that is void, because another one follows it: nothing else counts it. The usage of the
   * stream's last message is that of the last attempt alone, and tells the size of the context.
   */
  onVoidedUsage?: ((usage: Usage) => void) | undefined;
  /** Called with what happens on the way. */
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

/** The head of the provider's answer. */
export interface ProviderResponse {
  /** Of HTTP. */
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/**
 * The one stream type. A stream ends with exactly one `done` or `error`, and never throws.
 * `message` is the answer so far; it grows in place until the end.
 */
export type StreamEvent =
  /** An attempt begins. A second one in the same stream is a retry: what came before it is void. */
  | { type: "start"; message: AssistantMessage }
  | { type: "text"; contentIndex: number; delta: string; message: AssistantMessage }
  | { type: "thinking"; contentIndex: number; delta: string; message: AssistantMessage }
  /** Arguments as they come, as JSON text; `toolCall` is there when they are complete. */
  | { type: "tool_call"; contentIndex: number; delta: string; toolCall?: ToolCall; message: AssistantMessage }
  | { type: "done"; message: AssistantMessage }
  /** `failure` is absent when the request was aborted. What had come stands in `message`. */
  | { type: "error"; message: AssistantMessage; failure?: ModelFailure };

export type FinalEvent = Extract<StreamEvent, { type: "done" | "error" }>;

/** Reads a stream to its end. */
export async function finalEvent(stream: AsyncIterable<StreamEvent>): Promise<FinalEvent> {
  let last: StreamEvent | undefined;
  for await (const event of stream) last = event;
  if (last?.type === "done" || last?.type === "error") return last;
  throw new TypeError("A model's stream ended without an answer.");
}

/** What happened on the way of a request that somebody should know and that did not stop it. */
export type ModelNotice =
  | {
      type: "retry";
      /** 1 for the first retry. */
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      failure: ModelFailure;
    }
  | { type: "repair"; repairs: readonly Repair[] }
  | { type: "output_cap_lowered"; fromTokens: number; toTokens: number }
  | { type: "window_learned"; fromTokens: number | undefined; toTokens: number }
  /** Once for each model of a client. */
  | ({ type: "usage_ignored"; provider: string; modelId: string } & IgnoredUsage);
